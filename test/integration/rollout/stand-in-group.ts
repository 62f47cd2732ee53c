import type { RewardReported, RolloutReported, RolloutRuledBody, TrajectoryRecorded } from '@espalier/contracts';
import type { BroadcastConsumer, KafkaPort } from '@espalier/kafka';

/** Stands in for the group: grants every work to the first claim on it, and remembers what workers say. */
export class StandInGroup {
  readonly reports: RolloutReported[] = [];
  readonly recorded: TrajectoryRecorded[] = [];
  readonly rewards: RewardReported[] = [];
  readonly #kafka: KafkaPort;
  readonly #holders = new Map<string, string>();
  readonly #listener: BroadcastConsumer;

  constructor(kafka: KafkaPort) {
    this.#kafka = kafka;
    this.#listener = kafka.broadcast({
      topics: ['rollout.reported', 'trajectory.recorded', 'reward.reported'],
      from: 'earliest',
      handler: async (event) => {
        if (event.topic === 'trajectory.recorded') this.recorded.push(event.value);
        else if (event.topic === 'reward.reported') this.rewards.push(event.value);
        else await this.#heard(event.value);
      },
    });
  }

  start(): Promise<void> {
    return this.#listener.start();
  }

  /** The claim that holds a work. */
  holder(workId: string): RolloutReported | undefined {
    return this.reports.find(({ work_id, claim_id }) => work_id === workId && this.#holders.get(workId) === claim_id);
  }

  async rule(report: RolloutReported, ruling: Partial<RolloutRuledBody>): Promise<void> {
    await this.#kafka.producer('group').send('rollout.ruled', {
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
  }

  async #heard(report: RolloutReported): Promise<void> {
    this.reports.push(report);
    if (report.kind !== 'CLAIMED') return;
    const holder = this.#holders.get(report.work_id) ?? report.claim_id;
    this.#holders.set(report.work_id, holder);
    if (holder === report.claim_id) await this.rule(report, {});
    else await this.rule(report, { verdict: 'DENIED', epoch: 0, reason: 'HELD' });
  }
}
