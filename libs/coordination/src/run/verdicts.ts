import type { RunReportedBody, RunReportKind } from '@espalier/contracts';
import { report, type KnownRun } from './context.ts';
import { commandKey, commandTimer, type CommandRecord } from './entries.ts';

/** What became of a command, a join, an acknowledgement or a publication. */
export type Verdict = CommandRecord;

/** Reports a verdict and remembers it, so that a retry with the same id gets the same answer and does nothing. */
export function settle(
  run: KnownRun,
  commandId: string,
  kind: RunReportKind,
  verdict: Verdict,
  more: Partial<RunReportedBody> = {},
): void {
  run.work.put(commandKey(run.runId, commandId), 'command', verdict);
  run.work.setTimer(commandTimer(run.runId, commandId), run.work.now + run.timings.commandMs);
  report(run, kind, { command_id: commandId, ...verdict, ...more });
}

/** Answers a command that was settled before; true when it was. */
export function answerAgain(run: KnownRun, commandId: string, kind: RunReportKind): boolean {
  const known = run.work.get<CommandRecord>(commandKey(run.runId, commandId));
  if (!known) return false;
  report(run, kind, { command_id: commandId, accepted: known.accepted, code: known.code, message: known.message });
  return true;
}
