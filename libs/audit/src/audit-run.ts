import { checkAttempts } from './checks/attempts.ts';
import { checkBatches } from './checks/batches.ts';
import { checkBodies, type BodyStore } from './checks/bodies.ts';
import type { Check } from './checks/check.ts';
import { checkClaims } from './checks/claims.ts';
import { checkCommands } from './checks/commands.ts';
import { checkGroups } from './checks/groups.ts';
import { checkJournals } from './checks/journals.ts';
import { checkRankings } from './checks/rankings.ts';
import { checkReadability } from './checks/readability.ts';
import { checkRepeats } from './checks/repeats.ts';
import { checkRewards } from './checks/rewards.ts';
import { RunIndex } from './checks/run-index.ts';
import { checkSandboxes } from './checks/sandboxes.ts';
import { checkSubmissions } from './checks/submissions.ts';
import { checkTrajectories, countedRecord } from './checks/trajectories.ts';
import { conserve } from './conservation.ts';
import { takeCut } from './log/cut.ts';
import type { EventSource } from './log/event-source.ts';
import { readRunLog } from './log/run-log.ts';
import type { AuditReport } from './report/audit-report.ts';
import { Findings } from './report/finding.ts';

const CHECKS: readonly Check[] = [
  checkReadability,
  checkSubmissions,
  checkAttempts,
  checkClaims,
  checkTrajectories,
  checkRewards,
  checkGroups,
  checkBatches,
  checkCommands,
  checkSandboxes,
  checkRankings,
  checkRepeats,
  checkJournals,
];

/** How an audit is done. */
export interface AuditOptions {
  /** The time at which the cut is taken, milliseconds UTC; default the clock. */
  readonly now?: () => number;
}

/**
 * Audits one run from its topics and bodies alone. Takes a cut (end offsets of downstream topics first) and judges that,
 * whatever is written meanwhile. Throws what `source` throws when it cannot be read; a broken record is a finding.
 *
 * @param objects null leaves the bodies unread.
 */
export async function auditRun(
  source: EventSource,
  objects: BodyStore | null,
  runId: string,
  options: AuditOptions = {},
): Promise<AuditReport> {
  const cut = await takeCut(source, options.now ?? Date.now);
  const log = await readRunLog(source, cut, runId);
  const run = new RunIndex(log);
  const findings = new Findings();
  for (const check of CHECKS) check(run, findings);
  const bodies = objects ? await checkBodies(run, objects, (attemptId) => countedRecord(run, attemptId), findings) : 0;
  const list = findings.list();
  return {
    run_id: runId,
    taken_at: cut.takenAt,
    ok: list.every((finding) => finding.severity !== 'violation'),
    ended: run.ended !== undefined,
    records: log.records,
    attempts: run.requested.size,
    classes: conserve(run),
    groups: run.opened.size,
    batches: new Set(log.of('batch.offered').map(({ value }) => value.seq)).size,
    trajectories: run.recorded.size,
    bodies_checked: bodies,
    findings: list,
  };
}
