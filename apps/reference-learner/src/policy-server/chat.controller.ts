import { createHash, timingSafeEqual } from 'node:crypto';
import { Body, Controller, Get, Headers, HttpCode, HttpException, Inject, Post } from '@nestjs/common';
import { CheckpointError, decodeCheckpoint } from '../checkpoints/checkpoint.ts';
import { ChatRequestError, complete, parseChatRequest, type ChatCompletion } from './chat-completions.ts';
import { PolicyHolder } from './served-policy.ts';

/** An error in OpenAI's form. */
const refused = (status: number, code: string, message: string): HttpException =>
  new HttpException({ error: { message, type: 'invalid_request_error', code } }, status);

/** Compares without telling by its time how much is equal. */
const equal = (given: string, wanted: string): boolean => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
};

/** Injection token of the key that loading asks for; null asks for none. */
export const ADMIN_KEY = Symbol('ADMIN_KEY');

/** OpenAI-compatible chat completions of the policy, and the loading of new versions. */
@Controller()
export class ChatController {
  constructor(
    @Inject(PolicyHolder) private readonly policy: PolicyHolder,
    @Inject(ADMIN_KEY) private readonly adminKey: string | null,
  ) {}

  @Post('v1/chat/completions')
  @HttpCode(200)
  complete(@Body() body: unknown): ChatCompletion {
    const policy = this.policy.current;
    try {
      const request = parseChatRequest(body);
      if (request.model !== undefined && request.model !== policy.model)
        throw refused(404, 'model_not_found', `model "${request.model}" is not served here; use "${policy.model}"`);
      return complete(request, policy, Date.now());
    } catch (error) {
      if (error instanceof ChatRequestError) throw refused(400, error.code, error.message);
      throw error;
    }
  }

  @Get('v1/models')
  models(): object {
    const { model, version, checkpoint, runId } = this.policy.current;
    return {
      object: 'list',
      data: [
        {
          id: model,
          object: 'model',
          created: 0,
          owned_by: 'espalier',
          policy_version: version,
          checkpoint,
          run_id: runId,
        },
      ],
    };
  }

  @Get('health')
  health(): object {
    return { status: 'ok', policy_version: this.policy.current.version };
  }

  /** Serves a checkpoint (its file's content) from the next request on. */
  @Post('admin/load')
  @HttpCode(200)
  async load(@Body() body: unknown, @Headers('authorization') authorization = ''): Promise<object> {
    if (this.adminKey !== null && !equal(authorization, `Bearer ${this.adminKey}`))
      throw refused(401, 'ADMIN_KEY_WRONG', 'send the admin key of this server as a bearer token');
    try {
      const { version, checkpoint, runId } = await this.policy.load(decodeCheckpoint(JSON.stringify(body)));
      return { policy_version: version, checkpoint, run_id: runId };
    } catch (error) {
      if (error instanceof CheckpointError) throw refused(422, error.code, error.message);
      throw error;
    }
  }
}
