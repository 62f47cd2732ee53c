import type { RunReported, RunState, RunSubmitted } from '@espalier/contracts';

/** What this replica knows of a run: folded from run.submitted and run.reported, so that any replica serves any run. */
export interface RunStatus {
  readonly run_id: string;
  readonly state: RunState;
  readonly purpose: string | null;
  readonly model: string | null;
  readonly submitted_by: string | null;
  readonly submitted_at: number | null;
  readonly waiting_for: string | null;
  readonly message: string;
  readonly learner_epoch: number;
  readonly trained_seq: number;
  readonly policy_version: number;
  readonly progress: RunReported['progress'];
  readonly updated_at: number;
}

/** The verdict on a command, a join, an acknowledgement or a publication. */
export interface CommandVerdict {
  readonly command_id: string;
  readonly accepted: boolean;
  readonly code: string | null;
  readonly message: string;
  readonly learner_epoch: number | null;
  readonly next_seq: number | null;
  readonly trained_seq: number | null;
  readonly policy_version: number | null;
}

const ENDED: ReadonlySet<RunState> = new Set(['COMPLETED', 'CANCELLED', 'FAILED', 'REFUSED']);

export const hasEnded = (state: RunState): boolean => ENDED.has(state);

/** Most verdicts remembered for status URLs. */
const MAX_VERDICTS = 10_000;

/** Runs and verdicts as read from the log. */
export class RunBoard {
  private readonly runs = new Map<string, RunStatus>();
  private readonly verdicts = new Map<string, CommandVerdict>();
  private readonly waiters = new Map<string, Set<(verdict: CommandVerdict) => void>>();

  onSubmitted(event: RunSubmitted): void {
    const runId = event.run_id ?? '';
    const known = this.runs.get(runId);
    // The first submission wins, as in the processor; a later one may be an equal duplicate or refused.
    if (known?.submitted_at != null) return;
    this.runs.set(runId, {
      ...(known ?? emptyStatus(runId)),
      purpose: event.config.purpose,
      model: event.config.policy.model,
      submitted_by: event.submitted_by,
      submitted_at: event.occurred_at,
    });
  }

  onReported(event: RunReported): void {
    const runId = event.run_id ?? '';
    const known = this.runs.get(runId) ?? emptyStatus(runId);
    const refusal = event.code === 'RUN_DIFFERS' || (event.state === 'REFUSED' && event.command_id !== null);
    if (!refusal)
      this.runs.set(runId, {
        ...known,
        state: event.state,
        waiting_for: event.waiting_for,
        message: event.message === '' ? known.message : event.message,
        learner_epoch: Math.max(known.learner_epoch, event.learner_epoch ?? 0),
        trained_seq: event.trained_seq ?? known.trained_seq,
        policy_version: event.policy_version ?? known.policy_version,
        progress: event.progress ?? known.progress,
        updated_at: event.occurred_at,
      });
    if (event.command_id !== null && event.accepted !== null) this.settle(runId, event.command_id, event);
  }

  list(): RunStatus[] {
    return [...this.runs.values()].sort((a, b) => (b.submitted_at ?? 0) - (a.submitted_at ?? 0));
  }

  get(runId: string): RunStatus | undefined {
    return this.runs.get(runId);
  }

  verdict(runId: string, commandId: string): CommandVerdict | undefined {
    return this.verdicts.get(`${runId} ${commandId}`);
  }

  /** Resolves with the next verdict on the command, or undefined after `waitMs`. Call it before the command is produced. */
  awaitVerdict(runId: string, commandId: string, waitMs: number): Promise<CommandVerdict | undefined> {
    const key = `${runId} ${commandId}`;
    return new Promise((resolve) => {
      const done = (verdict: CommandVerdict | undefined): void => {
        clearTimeout(timer);
        const set = this.waiters.get(key);
        set?.delete(done);
        if (set?.size === 0) this.waiters.delete(key);
        resolve(verdict);
      };
      const timer = setTimeout(() => done(undefined), waitMs);
      this.waiters.set(key, (this.waiters.get(key) ?? new Set()).add(done));
    });
  }

  private settle(runId: string, commandId: string, event: RunReported): void {
    const key = `${runId} ${commandId}`;
    const verdict: CommandVerdict = {
      command_id: commandId,
      accepted: event.accepted ?? false,
      code: event.code,
      message: event.message,
      learner_epoch: event.learner_epoch,
      next_seq: event.next_seq,
      trained_seq: event.trained_seq,
      policy_version: event.policy_version,
    };
    this.verdicts.delete(key);
    this.verdicts.set(key, verdict);
    const [oldest] = this.verdicts.keys();
    if (this.verdicts.size > MAX_VERDICTS && oldest !== undefined) this.verdicts.delete(oldest);
    for (const waiter of [...(this.waiters.get(key) ?? [])]) waiter(verdict);
  }
}

const emptyStatus = (runId: string): RunStatus => ({
  run_id: runId,
  state: 'UNKNOWN',
  purpose: null,
  model: null,
  submitted_by: null,
  submitted_at: null,
  waiting_for: null,
  message: '',
  learner_epoch: 0,
  trained_seq: 0,
  policy_version: 0,
  progress: null,
  updated_at: 0,
});
