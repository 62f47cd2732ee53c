import { ATTEMPT_CLASSES, type AttemptClass, type ClassCount } from './report/audit-report.ts';
import type { RunIndex } from './checks/run-index.ts';

/** The one class of an attempt, with the failure class or reason that goes with it. */
export interface Classified {
  readonly class: AttemptClass;
  readonly by: string | null;
}

/** Puts an attempt in its class (docs/conservation.md says which topic and field proves each). */
export function classify(run: RunIndex, attemptId: string): Classified {
  const ending = run.endings.get(attemptId)?.[0]?.value;
  if (!ending) return { class: 'open', by: null };
  switch (ending.outcome) {
    case 'REPLACED':
      return { class: 'replaced', by: ending.failure?.class ?? 'UNKNOWN' };
    case 'CANCELLED':
      return { class: 'cancelled', by: ending.reason ?? 'UNKNOWN' };
    case 'FAILED':
    case 'UNKNOWN':
      return { class: 'failed', by: ending.failure?.class ?? 'UNKNOWN' };
    case 'SPARE':
      return { class: 'spare', by: null };
    case 'FILTERED':
      return { class: 'filtered', by: ending.reason ?? 'UNKNOWN' };
    case 'DELIVERED':
      return { class: 'delivered', by: null };
    case 'POOLED':
      return classifyPooled(run, ending.group_id, ending.trajectory_id);
    default:
      return ending.outcome satisfies never;
  }
}

function classifyPooled(run: RunIndex, groupId: string, trajectoryId: string | null): Classified {
  const batch = trajectoryId === null ? undefined : run.batchOf.get(trajectoryId);
  if (batch) return { class: batch.value.seq <= run.trainedSeq ? 'trained' : 'offered', by: null };
  const swept = run.sweptReason(groupId);
  return swept === null ? { class: 'pooled', by: null } : { class: 'filtered', by: swept };
}

/** Counts every requested attempt in its class. */
export function conserve(run: RunIndex): ClassCount[] {
  const counts = new Map<AttemptClass, { attempts: number; by: Record<string, number> }>(
    ATTEMPT_CLASSES.map((name) => [name, { attempts: 0, by: {} }]),
  );
  for (const attemptId of run.requested.keys()) {
    const { class: name, by } = classify(run, attemptId);
    const count = counts.get(name);
    if (!count) continue;
    count.attempts += 1;
    if (by !== null) count.by[by] = (count.by[by] ?? 0) + 1;
  }
  return [...counts].map(([name, count]) => ({ class: name, ...count }));
}
