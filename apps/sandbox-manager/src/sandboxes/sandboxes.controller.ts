import { Controller, Delete, Get, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { ManagerConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { MANAGER_CONFIG } from '../http/tokens.ts';
import { headerOf, queryFields, rawBody, type ApiRequest } from '../http/request.ts';
import { asInteger } from '../validation/coercions.ts';
import { FieldReader } from '../validation/fields.ts';
import { objectBody } from '../validation/json-body.ts';
import { readCreateRequest } from './create-request.ts';
import { sandboxView, statusOf } from './sandbox-view.ts';
import { SandboxesService } from './sandboxes.service.ts';

/** Default of the creation time-out, seconds. */
const CREATE_SECONDS = 3600;

/** A create without an id but with a key: the key decides the id, so that a repeated request finds the same sandbox. */
const idForKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 16);

const idOf = (request: ApiRequest): string => (request.params as { id: string }).id;

@Controller()
export class SandboxesController {
  readonly #sandboxes: SandboxesService;
  readonly #config: ManagerConfig;

  constructor(@Inject(SandboxesService) sandboxes: SandboxesService, @Inject(MANAGER_CONFIG) config: ManagerConfig) {
    this.#sandboxes = sandboxes;
    this.#config = config;
  }

  @Post('sandboxes')
  @HttpCode(200)
  async create(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const { id, request: wanted } = readCreateRequest(objectBody(rawBody(request)), {
      cpu: this.#config.defaultCpu,
      memory: this.#config.defaultMemory,
      timeout: CREATE_SECONDS,
    });
    const key = headerOf(request, 'idempotency-key');
    const sandbox = await this.#sandboxes.create(id ?? (key === null ? null : idForKey(key)), wanted);
    return {
      sandbox_id: sandbox.id,
      namespace: this.#config.namespace,
      image: sandbox.request.image,
      block_network: sandbox.request.block_network,
      cpu: sandbox.request.cpu,
      memory: sandbox.request.memory,
      timeout: sandbox.request.timeout,
      status: 'pending',
    };
  }

  @Get('sandboxes/:id')
  get(@Req() request: ApiRequest): Record<string, unknown> {
    const sandbox = this.#sandboxes.get(idOf(request));
    if (sandbox.phase === 'ready') this.#sandboxes.latch(sandbox.id);
    const ready = sandbox.phase === 'ready' || this.#sandboxes.isLatched(sandbox.id);
    return sandboxView(sandbox, this.#config.namespace, ready);
  }

  @Get('sandboxes/:id/wait')
  async wait(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const id = idOf(request);
    const fields = new FieldReader('query', queryFields(request));
    const timeout = fields.optional('timeout', asInteger, CREATE_SECONDS);
    fields.done();
    const before = this.#sandboxes.get(id);
    const gone = new AbortController();
    const close = (): void => gone.abort();
    request.raw.socket.once('close', close);
    const sandbox = await this.#sandboxes
      .settled(id, timeout * 1000, gone.signal)
      .finally(() => request.raw.socket.off('close', close));
    if (!sandbox)
      return {
        ...sandboxView(before, this.#config.namespace, false),
        status: 'not_found',
        status_message: 'Pod disappeared',
      };
    if (sandbox.phase === 'creating') throw ApiError.of(408, `Sandbox ${id} did not become ready within ${timeout}s`);
    const ready = sandbox.phase === 'ready';
    if (ready) this.#sandboxes.latch(id);
    return sandboxView(sandbox, this.#config.namespace, ready);
  }

  @Delete('sandboxes/:id')
  async remove(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const id = idOf(request);
    await this.#sandboxes.remove(id);
    return { status: 'deleted', sandbox_id: id };
  }

  @Post('sandboxes/:id/heartbeat')
  @HttpCode(200)
  async heartbeat(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const id = idOf(request);
    await this.#sandboxes.heartbeat(id);
    return { status: 'ok', sandbox_id: id };
  }

  /** How to reach the agent directly, for the model stream. */
  @Get('sandboxes/:id/agent')
  async agent(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    return { ...(await this.#sandboxes.agentOf(idOf(request), 0)) };
  }

  /** Every sandbox, oldest first (not part of Orchard's API). */
  @Get('v1/sandboxes')
  list(): Record<string, unknown> {
    const sandboxes = this.#sandboxes.driver
      .list()
      .toSorted((a, b) => a.createdAt - b.createdAt)
      .map((sandbox) => ({
        sandbox_id: sandbox.id,
        image: sandbox.request.image,
        run_id: sandbox.request.run_id,
        owner: sandbox.request.owner,
        labels: sandbox.request.labels,
        isolation: sandbox.isolation,
        created_at: sandbox.createdAt / 1000,
        ...statusOf(sandbox),
      }));
    return { sandboxes };
  }
}
