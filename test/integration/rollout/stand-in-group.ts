import type { RewardReported, RolloutReported, RolloutRuledBody, TrajectoryRecorded } from '@espalier/contracts';
import type { BroadcastConsumer, KafkaPort } from '@espalier/kafka';

/** Stands in for the group: grants every work to the first claim on it, and remembers what workers say. */
export class StandInGroup {
  readonly reports: RolloutReported[] = [];
  readonly recorded: TrajectoryRecorded[] = [];
  readonly rewards: RewardReported[] = [];
  readonly #kafka: KafkaPort;
  readonly #holders = new Map<string, string>();
  readonly #epochs = new Map<string, number>();
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

  /** Takes a work from its holder: the next claim is granted with a higher epoch. */
  expire(workId: string): void {
    this.#holders.delete(workId);
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
    const { work_id: workId } = report;
    if (!this.#holders.has(workId)) {
      this.#holders.set(workId, report.claim_id);
      this.#epochs.set(workId, (this.#epochs.get(workId) ?? 0) + 1);
    }
    const epoch = this.#epochs.get(workId) ?? 1;
    if (this.#holders.get(workId) === report.claim_id) await this.rule(report, { epoch });
    else await this.rule(report, { verdict: 'DENIED', epoch: 0, reason: 'HELD' });
  }
}
