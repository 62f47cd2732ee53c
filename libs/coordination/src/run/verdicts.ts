import type { RunReportKind } from '@espalier/contracts';
import { report, type KnownRun } from './context.ts';
import { commandKey, commandTimer, type CommandRecord } from './entries.ts';

/** What became of a command, a join, an acknowledgement or a publication. */
export type Verdict = CommandRecord;

/** Reports a verdict and remembers it, so that a retry with the same id gets the same answer and does nothing. */
export function settle(run: KnownRun, commandId: string, kind: RunReportKind, verdict: Verdict): void {
  run.work.put(commandKey(run.runId, commandId), 'command', verdict);
  run.work.setTimer(commandTimer(run.runId, commandId), run.work.now + run.timings.commandMs);
  answer(run, commandId, kind, verdict);
}

/** Answers a command that was settled before; true when it was. */
export function answerAgain(run: KnownRun, commandId: string, kind: RunReportKind): boolean {
  const known = run.work.get<CommandRecord>(commandKey(run.runId, commandId));
  if (known) answer(run, commandId, kind, known);
  return known !== undefined;
}

function answer(run: KnownRun, commandId: string, kind: RunReportKind, verdict: Verdict): void {
  const { accepted, code, message, learnerEpoch, nextSeq } = verdict;
  report(run, kind, {
    command_id: commandId,
    accepted,
    code,
    message,
    ...(learnerEpoch === undefined ? {} : { learner_epoch: learnerEpoch }),
    ...(nextSeq === undefined ? {} : { next_seq: nextSeq }),
  });
}
