import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { ObjectStore } from '@espalier/objects';
import { OBJECTS } from '@espalier/nest';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BatchBoard } from '../batches/batch-board.ts';
import { samplesOf } from '../batches/batch-samples.ts';
import { contentTypeOf, encodeSample, type SampleFormat } from '../batches/sample-formats.ts';
import { hasEnded, RunBoard } from '../runs/run-board.ts';
import { ApiError, batchUnknown, runUnknown } from './api-error.ts';
import { Commands, type CommandResult } from './commands.ts';
import { DescribedBody, DescribedQuery } from './openapi.ts';
import { ackRequest, joinRequest, nextQuery, parse, parseSeq, policyRequest, samplesQuery } from './requests.ts';

/** The learner's interface: a session, the next batch, its samples, acknowledgements, policy versions. */
@ApiTags('learner')
@Controller('v1/runs/:run')
export class LearnerController {
  constructor(
    @Inject(RunBoard) private readonly runs: RunBoard,
    @Inject(BatchBoard) private readonly batches: BatchBoard,
    @Inject(Commands) private readonly commands: Commands,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
  ) {}

  @Post('learner')
  @HttpCode(200)
  @ApiOperation({ summary: 'Open a learner session from a checkpoint; earlier sessions end' })
  @DescribedBody(joinRequest)
  async join(
    @Param('run') run: string,
    @Body() body: unknown,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    const request = parse(joinRequest, body);
    const result = await this.commands.send(run, 'learner.joined', {
      run_id: run,
      command_id: this.commands.commandId('join', key),
      learner_id: request.learner_id,
      checkpoint: request.checkpoint ?? null,
    });
    return answer(reply, run, result);
  }

  @Get('batches/next')
  @ApiOperation({ summary: 'The batch after `after`; waits up to `wait` seconds for it' })
  @DescribedQuery(nextQuery)
  async next(
    @Param('run') run: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object | undefined> {
    const { after, wait, learner_epoch: epoch } = parse(nextQuery, query);
    const gone = new AbortController();
    request.raw.once('close', () => gone.abort());
    const deadline = Date.now() + wait * 1000;
    for (;;) {
      const status = this.runs.get(run);
      if (!status) throw runUnknown(run);
      if (epoch !== undefined && epoch < status.learner_epoch)
        throw new ApiError(
          409,
          'STALE_LEARNER',
          `session ${epoch} has ended; ${status.learner_epoch} is the current one`,
        );
      const batch = this.batches.get(run, after + 1);
      if (batch) return { ...batch, samples_url: `/v1/runs/${run}/batches/${batch.seq}/samples` };
      if (hasEnded(status.state) && after >= (status.progress?.batches_offered ?? 0))
        throw new ApiError(410, 'RUN_ENDED', `run ${run} is ${status.state}; batch ${after} was its last`);
      const left = deadline - Date.now();
      if (left <= 0 || gone.signal.aborted) break;
      await this.batches.changed(run, left, gone.signal);
    }
    reply.status(204);
    return undefined;
  }

  @Get('batches/:seq/samples')
  @ApiOperation({ summary: "A batch's training samples as avro, msgpack or jsonl; whole, or the share of one rank" })
  @DescribedQuery(samplesQuery)
  samples(
    @Param('run') run: string,
    @Param('seq') seqText: string,
    @Query() query: unknown,
    @Res() reply: FastifyReply,
  ): void {
    const { format, rank, world } = parse(samplesQuery, query);
    const seq = parseSeq(seqText);
    if (!this.runs.get(run)) throw runUnknown(run);
    const batch = this.batches.get(run, seq);
    if (!batch) throw batchUnknown(run, seq);
    const samples = samplesOf(batch, this.objects, { rank, world });
    void reply
      .header('content-type', contentTypeOf[format])
      .header('x-espalier-batch-digest', batch.digest)
      .send(Readable.from(encoded(samples, format)));
  }

  @Post('batches/:seq/ack')
  @HttpCode(200)
  @ApiOperation({ summary: 'Acknowledge: every batch up to this one is contained in a durable checkpoint' })
  @DescribedBody(ackRequest)
  async acknowledge(
    @Param('run') run: string,
    @Param('seq') seqText: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    const request = parse(ackRequest, body);
    const seq = parseSeq(seqText);
    const checkpoint = createHash('sha256').update(request.checkpoint).digest('hex').slice(0, 16);
    const result = await this.commands.send(run, 'batch.trained', {
      run_id: run,
      command_id: `ack:${request.learner_epoch}:${seq}:${checkpoint}`,
      learner_epoch: request.learner_epoch,
      seq,
      checkpoint: request.checkpoint,
      metrics_json: JSON.stringify(request.metrics),
    });
    return answer(reply, run, result);
  }

  @Post('policy')
  @HttpCode(200)
  @ApiOperation({ summary: 'Publish a policy version: PAUSING holds model calls, READY serves it' })
  @DescribedBody(policyRequest)
  async publish(
    @Param('run') run: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    const request = parse(policyRequest, body);
    const result = await this.commands.send(run, 'policy.published', {
      run_id: run,
      command_id: `policy:${request.learner_epoch ?? 0}:${request.version}:${request.phase}`,
      learner_epoch: request.learner_epoch ?? null,
      phase: request.phase,
      version: request.version,
      after_batch: request.after_batch,
      endpoints: request.endpoints,
      checkpoint: request.checkpoint ?? null,
    });
    return answer(reply, run, result);
  }
}

/** 200 with the verdict, or 202 with the URL that will have it. */
export function answer(reply: FastifyReply, run: string, result: CommandResult): object {
  if (result.kind === 'settled') return result.verdict;
  reply.status(202);
  return { status_url: `/v1/runs/${run}/commands/${encodeURIComponent(result.commandId)}` };
}

async function* encoded(samples: ReturnType<typeof samplesOf>, format: SampleFormat): AsyncIterable<Buffer> {
  for await (const sample of samples) yield encodeSample(sample, format);
}
