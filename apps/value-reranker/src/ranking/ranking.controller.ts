import { Body, Controller, HttpCode, HttpException, Inject, Post } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { GroupDecided, TrajectoryScored } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { KAFKA, OBJECTS, type PatternExtras } from '@espalier/nest';
import type { ObjectStore } from '@espalier/objects';
import { readBody } from '../features/body-reader.ts';
import { featuresOf } from '../features/features.ts';
import { ExampleStore } from '../fitting/example-store.ts';
import { ModelStore } from '../models/model-store.ts';
import { rankGroup, type RankedCandidate } from './rank-group.ts';
import { rankRequest } from './rank-request.ts';

const facts: PatternExtras = { kind: 'facts', group: 'value-reranker' };

/** Learns from scored trajectories, and ranks decided groups. */
@Controller()
export class RankingController {
  constructor(
    @Inject(KAFKA) private readonly kafka: KafkaPort,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(ExampleStore) private readonly examples: ExampleStore,
    @Inject(ModelStore) private readonly models: ModelStore,
  ) {}

  /** Every verdict is an example; those without one teach nothing. */
  @EventPattern('trajectory.scored', facts)
  async scored(@Payload() event: TrajectoryScored): Promise<void> {
    if (event.passed === null) return;
    const body = await readBody(this.objects, event.body);
    await this.examples.add({
      trajectoryId: event.trajectory_id,
      groupId: event.group_id,
      revision: event.revision,
      scoredAt: event.occurred_at,
      passed: event.passed,
      features: featuresOf({
        trajectoryId: event.trajectory_id,
        groupId: event.group_id,
        taskId: event.task_id,
        status: event.status,
        counts: event.counts,
        body,
      }),
    });
  }

  /** Every decided group is ranked, the members left out of training too: best of N chooses among all. */
  @EventPattern('group.decided', facts)
  async decided(@Payload() event: GroupDecided): Promise<void> {
    const recorded = event.members.filter(({ body }) => body !== null);
    if (recorded.length === 0) return;
    const candidates = await Promise.all(
      recorded.map(async (member): Promise<RankedCandidate> => ({
        trajectoryId: member.trajectory_id,
        groupId: event.group_id,
        taskId: event.task_id,
        status: member.status,
        counts: member.counts,
        body: await readBody(this.objects, member.body),
        passed: member.reward === null ? null : member.reward > 0,
      })),
    );
    const group = { runId: event.run_id, groupId: event.group_id, taskId: event.task_id };
    await this.kafka.producer().send('ranking.decided', rankGroup(group, candidates, this.models.newest));
  }

  /** Ranks trajectories that are given by their claim checks, without any event. */
  @Post('v1/rank')
  @HttpCode(200)
  async rank(@Body() body: unknown): Promise<object> {
    const request = rankRequest.safeParse(body);
    if (!request.success) {
      const message = request.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
      throw new HttpException({ code: 'RANK_REQUEST_INVALID', message }, 422);
    }
    const { run_id: runId, group_id: groupId, task_id: taskId, candidates } = request.data;
    const ranked = await Promise.all(
      candidates.map(async (one): Promise<RankedCandidate> => ({
        trajectoryId: one.trajectory_id,
        groupId,
        taskId,
        status: one.status,
        counts: one.counts,
        body: await readBody(this.objects, one.body),
        passed: null,
      })),
    );
    const { idempotency_key: _, ...ranking } = rankGroup({ runId, groupId, taskId }, ranked, this.models.newest);
    return ranking;
  }
}
