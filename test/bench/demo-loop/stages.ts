import type { EventMap, TopicName } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';

/** Milliseconds of each stage of the rollouts that were recorded in a window. */
export interface Stages {
  readonly requestedToGranted: number[];
  readonly grantedToHarness: number[];
  readonly harnessRun: number[];
  readonly harnessToRecorded: number[];
  readonly recordedToScoringGranted: number[];
  readonly scoringGrantedToReward: number[];
  readonly recordedToReward: number[];
  readonly rewardToDecision: number[];
}

interface At<T extends TopicName> {
  /** When the record was produced, milliseconds UTC. */
  readonly at: number;
  readonly value: EventMap[T];
}

async function stored<T extends TopicName>(kafka: KafkaPort, runId: string, topic: T): Promise<At<T>[]> {
  const found: At<T>[] = [];
  const reader = kafka.reader();
  try {
    for await (const { value, timestamp } of reader.readAll(topic))
      if (value !== null && value.run_id === runId) found.push({ at: timestamp, value });
  } finally {
    await reader.close();
  }
  return found;
}

/** First time of each key. */
function firstBy<T extends TopicName>(
  events: readonly At<T>[],
  key: (value: EventMap[T]) => string,
): Map<string, number> {
  const first = new Map<string, number>();
  for (const { at, value } of events) {
    const name = key(value);
    first.set(name, Math.min(at, first.get(name) ?? Number.POSITIVE_INFINITY));
  }
  return first;
}

/** Adds the difference of two times when both are known. */
function add(to: number[], from: number | undefined, until: number | undefined): void {
  if (from !== undefined && until !== undefined) to.push(Math.max(0, until - from));
}

/** Reads a run's events and takes the stages apart by the times at which their records were produced. */
export async function stagesOf(kafka: KafkaPort, runId: string, from: number, to: number): Promise<Stages> {
  const requested = firstBy(await stored(kafka, runId, 'rollout.requested'), (event) => event.attempt_id);
  const ruled = (await stored(kafka, runId, 'rollout.ruled')).filter(({ value }) => value.verdict === 'GRANTED');
  const granted = firstBy(ruled, (event) => event.work_id);
  const phases = await stored(kafka, runId, 'rollout.reported');
  const phase = (name: string): Map<string, number> =>
    firstBy(
      phases.filter(({ value }) => value.kind === 'PHASE' && value.phase === name && value.work === 'ROLLOUT'),
      (event) => event.attempt_id,
    );
  const [harness, snapshot] = [phase('harness'), phase('snapshot')];
  const rewards = await stored(kafka, runId, 'reward.reported');
  const rewarded = firstBy(rewards, (event) => event.trajectory_id);

  const stages: Stages = {
    requestedToGranted: [],
    grantedToHarness: [],
    harnessRun: [],
    harnessToRecorded: [],
    recordedToScoringGranted: [],
    scoringGrantedToReward: [],
    recordedToReward: [],
    rewardToDecision: [],
  };
  const recorded = new Map<string, number>();
  for (const { at, value } of await stored(kafka, runId, 'trajectory.recorded')) {
    recorded.set(value.trajectory_id, at);
    if (at < from || at > to || value.status === 'CANCELLED') continue;
    const { attempt_id: attempt } = value;
    add(stages.requestedToGranted, requested.get(attempt), granted.get(attempt));
    add(stages.grantedToHarness, granted.get(attempt), harness.get(attempt));
    add(stages.harnessRun, harness.get(attempt), snapshot.get(attempt));
    add(stages.harnessToRecorded, snapshot.get(attempt), at);
  }
  for (const { at, value } of rewards) {
    const begun = recorded.get(value.trajectory_id);
    if (begun === undefined || begun < from || begun > to) continue;
    add(stages.recordedToScoringGranted, begun, granted.get(value.work_id));
    add(stages.scoringGrantedToReward, granted.get(value.work_id), at);
    add(stages.recordedToReward, begun, at);
  }
  for (const { at, value } of await stored(kafka, runId, 'group.decided')) {
    if (at < from || at > to) continue;
    const times = value.members.flatMap(({ trajectory_id: id }) => rewarded.get(id) ?? []).filter((time) => time <= at);
    if (times.length > 0) add(stages.rewardToDecision, Math.max(...times), at);
  }
  return stages;
}
