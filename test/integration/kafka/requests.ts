import type { TopicName, RolloutRequestedBody, RolloutRuledBody, RolloutReported } from '@espalier/contracts';
import type { ConsumerTimings, KafkaPort, WorkTimings } from '@espalier/kafka';

/** Short times, so that leases and sessions run out within a test. */
export const fast: ConsumerTimings = {
  sessionTimeoutMs: 6_000,
  heartbeatMs: 300,
  rebalanceTimeoutMs: 5_000,
  stallMs: 30_000,
};
export const fastWork: Partial<WorkTimings> = { ...fast, aliveMs: 200, leaseMs: 3_000, claimMs: 400, redirectMs: 400 };

/** What claims and rulings travel on. */
export const workTopics: TopicName[] = [
  'rollout.requested',
  'scoring.requested',
  'rollout.reported',
  'rollout.alive',
  'rollout.ruled',
];

const ref = {
  key: 'packages/x',
  sha256: 'x',
  bytes: 1,
  content_digest: 'x',
  content_bytes: 1,
  media_type: 'application/x-tar',
  encoding: 'identity',
};

/** A request to start attempt `n` of group `run/task/<group>`. */
export function request(n: number, group = 0, more: Partial<RolloutRequestedBody> = {}): RolloutRequestedBody {
  const groupId = `run/task/${group}`;
  return {
    run_id: 'run',
    group_id: groupId,
    rollout_id: `${groupId}/r${n}`,
    attempt_id: `${groupId}/r${n}/a0`,
    attempt_no: 0,
    rollout_index: n,
    kind: 'START',
    purpose: 'TRAIN',
    task: { task_id: 'task', package: ref },
    harness: { name: 'mini' },
    policy: { model: 'm', endpoints: [], adapter: 'CHAT' },
    limits: { wall_ms: 1000, model_calls: 1, sampled_tokens: 1 },
    policy_version: 0,
    seed: 1,
    deadline_at: Date.now() + 600_000,
    ...more,
  };
}

/** A stand-in for the group: grants each work to the first claim on it, by `rule`, denies the others, and remembers what it heard. */
export async function group(
  kafka: KafkaPort,
  rule: (claim: RolloutReported, nth: number) => Partial<RolloutRuledBody> | undefined,
): Promise<{
  reports: RolloutReported[];
  rule: (report: RolloutReported, ruling: Partial<RolloutRuledBody>) => Promise<void>;
}> {
  const reports: RolloutReported[] = [];
  const producer = kafka.producer('group');
  const answer = async (report: RolloutReported, ruling: Partial<RolloutRuledBody>): Promise<void> => {
    await producer.send('rollout.ruled', {
      run_id: report.run_id,
      group_id: report.group_id,
      attempt_id: report.attempt_id,
      work: report.work,
      work_id: report.work_id,
      verdict: 'GRANTED',
      worker_id: report.worker_id,
      claim_id: report.claim_id,
      epoch: 1,
      ...ruling,
    });
  };
  const seen = new Map<string, number>();
  const holders = new Map<string, string>();
  const listener = kafka.broadcast({
    topics: ['rollout.reported'],
    from: 'earliest',
    handler: async ({ value }) => {
      reports.push(value);
      if (value.kind !== 'CLAIMED') return;
      const nth = seen.get(value.work_id) ?? 0;
      seen.set(value.work_id, nth + 1);
      const holder = holders.get(value.work_id) ?? value.claim_id;
      const ruling =
        holder === value.claim_id ? rule(value, nth) : { verdict: 'DENIED' as const, epoch: 0, reason: 'HELD' };
      if (ruling === undefined) return;
      holders.set(value.work_id, holder);
      await answer(value, ruling);
    },
  });
  await listener.start();
  return { reports, rule: answer };
}
