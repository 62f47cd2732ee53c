import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { rawBody, type ApiRequest } from '../http/request.ts';
import { jobIdFor } from '../jobs/job-ids.ts';
import { JobRegistry } from '../jobs/job-registry.ts';
import { jobView } from '../jobs/job-view.ts';
import { SandboxesService } from '../sandboxes/sandboxes.service.ts';
import { asInteger, asString } from '../validation/coercions.ts';
import { FieldReader } from '../validation/fields.ts';
import { objectBody } from '../validation/json-body.ts';

/** The patch arrives on standard input: nothing in it is ever read by a shell. */
const APPLY = 'cat > /tmp/patch.diff; cd /workspace; git apply /tmp/patch.diff';

@Controller()
export class PatchesController {
  constructor(
    @Inject(SandboxesService) private readonly sandboxes: SandboxesService,
    @Inject(JobRegistry) private readonly jobs: JobRegistry,
  ) {}

  @Post('sandboxes/:id/apply_patch')
  @HttpCode(200)
  async apply(@Req() request: ApiRequest): Promise<Record<string, unknown>> {
    const fields = new FieldReader('body', objectBody(rawBody(request)));
    const patch = fields.required('patch', asString, '');
    const timeout = fields.optional('timeout_seconds', asInteger, 30);
    fields.done();
    const { id } = request.params as { id: string };
    this.sandboxes.get(id);
    const timeoutMs = (timeout || 30) * 1000;
    const job = this.jobs.start(jobIdFor(id, null), id, {
      command: APPLY,
      argv: null,
      cwd: null,
      strictCwd: false,
      env: null,
      loginShell: false,
      timeoutMs,
      stdin: Buffer.from(patch).toString('base64'),
      maxOutputBytes: null,
      parallel: false,
    });
    await this.jobs.settled(job, timeoutMs + 30_000);
    if (job.state === 'lost')
      return { success: false, stdout: '', stderr: '', exit_code: null, error: `Agent connection error: ${job.error}` };
    const { stdout, stderr, exit_code: exitCode } = jobView(await this.jobs.withOutput(job), false);
    return { success: exitCode === 0, stdout, stderr, exit_code: exitCode, error: null };
  }
}
