import type { Effects, MachineInput, MachineOutput, StateMachine } from '@espalier/contracts';
import type { Metrics } from '@espalier/nest';

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200];

/** Counts what the processors decide. A step that is fenced and decided again elsewhere is counted there too. */
export class DecisionMetrics {
  private readonly requested;
  private readonly ended;
  private readonly groups;
  private readonly groupSeconds;
  private readonly batches;
  private readonly batchSeconds;
  private readonly rulings;

  constructor(metrics: Metrics) {
    this.requested = metrics.counter({ name: 'espalier_attempts_requested_total', help: 'Attempts asked for.' });
    this.ended = metrics.counter({
      name: 'espalier_attempts_ended_total',
      help: 'Attempts ended, by outcome and failure.',
      labelNames: ['outcome', 'failure_class', 'failure_code'],
    });
    this.groups = metrics.counter({
      name: 'espalier_groups_decided_total',
      help: 'Groups decided, by outcome and kind of selection.',
      labelNames: ['outcome', 'selection'],
    });
    this.groupSeconds = metrics.histogram({
      name: 'espalier_group_seconds',
      help: 'From the opening of a group to its decision.',
      buckets: SECONDS,
    });
    this.batches = metrics.counter({
      name: 'espalier_batches_offered_total',
      help: 'Batches offered, repeats included.',
    });
    this.batchSeconds = metrics.histogram({
      name: 'espalier_batch_seconds',
      help: 'From the decision that completes a batch to its offer.',
      buckets: SECONDS,
    });
    this.rulings = metrics.counter({
      name: 'espalier_rulings_total',
      help: 'Rulings on claims and on work that is not held.',
      labelNames: ['work', 'verdict'],
    });
  }

  /** Counts the outputs of one decision on `input` (undefined for a timer). */
  count(outputs: readonly MachineOutput[], input: MachineInput | undefined, now: number): void {
    for (const output of outputs)
      switch (output.topic) {
        case 'rollout.requested':
          this.requested.inc();
          break;
        case 'rollout.ended': {
          const { outcome, failure } = output.value;
          const labels = { failure_class: failure?.class ?? '', failure_code: failure?.code ?? '' };
          this.ended.inc({ outcome, ...labels });
          break;
        }
        case 'rollout.ruled':
          this.rulings.inc({ work: output.value.work, verdict: output.value.verdict });
          break;
        case 'group.decided':
          this.groups.inc({ outcome: output.value.outcome, selection: output.value.selection });
          this.groupSeconds.observe((output.value.duration_ms ?? 0) / 1000);
          break;
        case 'batch.offered':
          this.batches.inc();
          if (input?.topic === 'group.decided')
            this.batchSeconds.observe(Math.max(0, now - input.value.occurred_at) / 1000);
          break;
        default:
      }
  }
}

/** The same machine, with its decisions counted. */
export function observed(machine: StateMachine, metrics: DecisionMetrics): StateMachine {
  const counted = (effects: Effects, input: MachineInput | undefined, now: number): Effects => {
    metrics.count(effects.outputs, input, now);
    return effects;
  };
  return {
    name: machine.name,
    inputs: machine.inputs,
    stateTopic: machine.stateTopic,
    journalTopic: machine.journalTopic,
    stateVersion: machine.stateVersion,
    ...(machine.heartbeatInputs === undefined ? {} : { heartbeatInputs: machine.heartbeatInputs }),
    ...(machine.renewals === undefined ? {} : { renewals: (input, now) => machine.renewals?.(input, now) ?? [] }),
    decide: (state, input, now) => counted(machine.decide(state, input, now), input, now),
    fire: (state, timer, now) => counted(machine.fire(state, timer, now), undefined, now),
    abandon: (state, input, error, now) => counted(machine.abandon(state, input, error, now), input, now),
  };
}
