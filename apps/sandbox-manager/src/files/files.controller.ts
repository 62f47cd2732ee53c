import { Controller, Get, HttpCode, Inject, Post, Put, Req, Res } from '@nestjs/common';
import { AgentClient, AgentRefusedError } from '../agent/agent-client.ts';
import type { ManagerConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { bodyStream, queryFields, rawBody, type ApiReply, type ApiRequest } from '../http/request.ts';
import { MANAGER_CONFIG } from '../http/tokens.ts';
import { SandboxesService } from '../sandboxes/sandboxes.service.ts';
import { asString } from '../validation/coercions.ts';
import { FieldReader } from '../validation/fields.ts';
import { objectBody } from '../validation/json-body.ts';
import type { IncomingMessage } from 'node:http';
import { decodeBase64 } from './base64.ts';

const idOf = (request: ApiRequest): string => (request.params as { id: string }).id;

function pathOf(request: ApiRequest, fallback?: string): string {
  const fields = new FieldReader('query', queryFields(request));
  const path =
    fallback === undefined ? fields.required('path', asString, '') : fields.optional('path', asString, fallback);
  fields.done();
  return path;
}

/** What a query carries besides the path, passed on to the agent. */
function agentQuery(request: ApiRequest): string {
  return request.url.split('?', 2)[1] ?? '';
}

@Controller()
export class FilesController {
  constructor(
    @Inject(SandboxesService) private readonly sandboxes: SandboxesService,
    @Inject(AgentClient) private readonly agents: AgentClient,
    @Inject(MANAGER_CONFIG) private readonly config: ManagerConfig,
  ) {}

  @Post('sandboxes/:id/files')
  @HttpCode(200)
  async upload(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const fields = new FieldReader('body', objectBody(rawBody(request)));
    const path = fields.required('path', asString, '');
    const content = fields.required('content', asString, '');
    const mode = fields.nullable('mode', asString);
    fields.done();
    const access = await this.#access(request);
    const bytes = decodeBase64(content);
    const { size } = await answered(path, this.agents.putFile(idOf(request), access, path, bytes, mode));
    return { success: true, path, size };
  }

  @Get('sandboxes/:id/files')
  async download(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const path = pathOf(request);
    const access = await this.#access(request);
    const bytes = await answered(path, this.agents.readFile(idOf(request), access, path));
    return { path, content: bytes.toString('base64'), size: bytes.length };
  }

  @Get('sandboxes/:id/files/list')
  async list(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const path = pathOf(request, '/workspace');
    const access = await this.#access(request);
    const { files } = await answered(path, this.agents.listFiles(idOf(request), access, path));
    return { path, files: files.map(({ name, type, size, modified }) => ({ name, type, size, modified })) };
  }

  /** A raw body, streamed and written atomically (not part of Orchard's API). */
  @Put('sandboxes/:id/files/raw')
  async putRaw(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const path = pathOf(request);
    const access = await this.#access(request);
    const mode = queryFields(request)['mode'];
    const content = bodyStream(request);
    const sent = this.agents.putFile(idOf(request), access, path, content, typeof mode === 'string' ? mode : null);
    const { size } = await answered(path, sent);
    return { success: true, path, size };
  }

  @Get('sandboxes/:id/files/raw')
  async getRaw(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const path = pathOf(request);
    const access = await this.#access(request);
    await relay(reply, await answered(path, this.agents.openFile(idOf(request), access, path)));
  }

  /** Extracts a tar below the directory `path`. */
  @Put('sandboxes/:id/archive')
  async putArchive(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const path = pathOf(request);
    const access = await this.#access(request);
    await answered(path, this.agents.putArchive(idOf(request), access, path, bodyStream(request)));
    return { success: true, path };
  }

  /** A tar of the directory `path`; `exclude` (repeatable) are name patterns. */
  @Get('sandboxes/:id/archive')
  async getArchive(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const path = pathOf(request);
    const access = await this.#access(request);
    await relay(reply, await answered(path, this.agents.openArchive(idOf(request), access, agentQuery(request))));
  }

  #access(request: ApiRequest): ReturnType<SandboxesService['agentOf']> {
    return this.sandboxes.agentOf(idOf(request), this.config.defaultExecSeconds * 1000);
  }
}

/** Passes a stream on. A source that breaks off breaks the answer too: a cut tar must not look whole. */
function relay(reply: ApiReply, source: IncomingMessage): Promise<void> {
  const type = source.headers['content-type'];
  const length = source.headers['content-length'];
  if (type !== undefined) reply.header('content-type', type);
  if (length !== undefined) reply.header('content-length', length);
  source.once('aborted', () => reply.raw.destroy());
  source.once('error', () => reply.raw.destroy());
  reply.raw.once('close', () => source.destroy());
  return Promise.resolve(reply.send(source)).then(() => undefined);
}

/** Turns the agent's refusals into the contract's answers. */
async function answered<T>(path: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof AgentRefusedError)) throw error;
    switch (error.code) {
      case 'FILE_NOT_FOUND':
        throw ApiError.of(404, error.message.replace(/: .*/s, `: ${path}`));
      case 'FILE_NOT_A_FILE':
      case 'FILE_NOT_A_DIRECTORY':
      case 'FILE_ARCHIVE':
        throw ApiError.of(
          400,
          error.code === 'FILE_ARCHIVE' ? error.message : error.message.replace(/: .*/s, `: ${path}`),
        );
      case 'FILE_DENIED':
        throw ApiError.of(400, error.message);
      case 'FILE_DISK_FULL':
        throw ApiError.of(413, error.message);
      default:
        throw ApiError.of(500, `Agent call failed (HTTP ${error.status}): ${error.message}`);
    }
  }
}
