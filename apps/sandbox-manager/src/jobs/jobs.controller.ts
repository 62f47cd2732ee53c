import { Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { ManagerConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { headerOf, queryFields, rawBody, type ApiReply, type ApiRequest } from '../http/request.ts';
import { MANAGER_CONFIG } from '../http/tokens.ts';
import { goneError, SandboxesService } from '../sandboxes/sandboxes.service.ts';
import { asInteger } from '../validation/coercions.ts';
import { FieldReader } from '../validation/fields.ts';
import { objectBody } from '../validation/json-body.ts';
import { readExecRequest } from './exec-request.ts';
import { isOver } from './job.ts';
import { jobIdFor } from './job-ids.ts';
import { JobRegistry } from './job-registry.ts';
import { jobView } from './job-view.ts';
import { fingerprintOf, UndeliveredJobs } from './undelivered.ts';

/** What a waiting exec waits beyond the command's own time, milliseconds. */
const WAIT_GRACE_MS = 30_000;
/** Default of `GET /jobs/J/wait`, seconds. */
const WAIT_SECONDS = 300;

const idOf = (request: ApiRequest): string => (request.params as { id: string }).id;
const isFull = (request: ApiRequest): boolean => queryFields(request)['view'] === 'full';

@Controller()
export class JobsController {
  readonly #undelivered = new UndeliveredJobs();

  constructor(
    @Inject(JobRegistry) private readonly jobs: JobRegistry,
    @Inject(SandboxesService) private readonly sandboxes: SandboxesService,
    @Inject(MANAGER_CONFIG) private readonly config: ManagerConfig,
  ) {}

  @Post('sandboxes/:id/exec')
  @HttpCode(200)
  async exec(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<Record<string, unknown> | undefined> {
    const { exec, wait } = readExecRequest(objectBody(rawBody(request)), this.config.defaultExecSeconds);
    const sandboxId = idOf(request);
    const sandbox = this.sandboxes.get(sandboxId);
    const key = headerOf(request, 'idempotency-key');
    const jobId = jobIdFor(sandboxId, key);
    // A known job is found even when its sandbox has ended meanwhile.
    const known = key === null ? undefined : this.jobs.find(jobId);
    if (!known && sandbox.phase === 'failed') throw goneError(sandbox);
    const fingerprint = fingerprintOf(sandboxId, exec, headerOf(request, 'x-api-key'));
    const adopted = key === null ? this.#undelivered.adopt(fingerprint) : null;
    const job = known ?? this.jobs.start(adopted ?? jobId, sandboxId, exec);
    if (!wait) {
      const { status } = jobView(job, false);
      return { job_id: job.id, status: isOver(job) && adopted !== null ? status : 'queued' };
    }
    const gone = new AbortController();
    const { raw } = reply;
    raw.once('close', () => {
      gone.abort();
      if (!raw.writableFinished && key === null) this.#undelivered.add(fingerprint, job.id);
    });
    await this.jobs.settled(job, exec.timeoutMs + WAIT_GRACE_MS, gone.signal);
    if (job.state === 'lost') {
      const ended = this.sandboxes.driver.get(sandboxId);
      if (ended?.phase === 'failed') throw goneError(ended);
    }
    return jobView(await this.jobs.withOutput(job), isFull(request));
  }

  @Get('sandboxes/:id/jobs')
  list(@Req() request: ApiRequest): Record<string, unknown> {
    const id = idOf(request);
    this.sandboxes.get(id);
    return { jobs: this.jobs.of(id).map((job) => jobView(job, isFull(request))) };
  }

  @Get('jobs/:id')
  async get(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    return jobView(await this.jobs.withOutput(this.jobs.get(idOf(request))), isFull(request));
  }

  @Get('jobs/:id/wait')
  async wait(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<Record<string, unknown>> {
    const fields = new FieldReader('query', queryFields(request));
    const timeout = fields.optional('timeout', asInteger, WAIT_SECONDS);
    const milliseconds = fields.optional('timeout_ms', asInteger, timeout * 1000);
    fields.done();
    const job = this.jobs.get(idOf(request));
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    await this.jobs.settled(job, milliseconds, gone.signal);
    return jobView(await this.jobs.withOutput(job), isFull(request));
  }

  /** Ends the command's whole tree (not part of Orchard's API). */
  @Delete('jobs/:id')
  async cancel(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const job = this.jobs.get(idOf(request));
    await this.jobs.cancel(job);
    if (!isOver(job)) throw ApiError.of(503, `Job ${job.id} does not end`);
    return jobView(await this.jobs.withOutput(job), isFull(request));
  }
}
