import type { GroupDecided, RolloutEnded } from '@espalier/contracts';
import { pool } from './batches.ts';
import { configOf, headOf, isLive, recentOf, report, writeHead, type KnownRun } from './context.ts';
import { groupKey, recentKey, type RunGroupEntry } from './entries.ts';

/** One attempt has ended: counters, circuit breaker, pass rate. */
export function onRolloutEnded(run: KnownRun, event: RolloutEnded): void {
  const head = headOf(run);
  const infra = event.failure?.class === 'INFRA';
  const counted = event.outcome !== 'REPLACED' && event.outcome !== 'CANCELLED';
  writeHead(run, {
    attemptsEnded: head.attemptsEnded + 1,
    attemptsFailed: head.attemptsFailed + (infra ? 1 : 0),
    rolloutsCounted: head.rolloutsCounted + (counted ? 1 : 0),
  });
  if (event.outcome !== 'REPLACED') releaseSlot(run, event.group_id);
  remember(run, event, infra);
  if (event.outcome !== 'CANCELLED') trip(run);
}

function releaseSlot(run: KnownRun, groupId: string): void {
  const entry = run.work.get<RunGroupEntry>(groupKey(run.runId, groupId));
  if (!entry || entry.state !== 'OPEN' || entry.inFlight === 0) return;
  run.work.put(groupKey(run.runId, groupId), 'group', { ...entry, inFlight: entry.inFlight - 1 });
  writeHead(run, { inFlight: headOf(run).inFlight - 1 });
}

function remember(run: KnownRun, event: RolloutEnded, infra: boolean): void {
  const { breaker, target } = configOf(run);
  const recent = recentOf(run);
  const passed =
    event.reward !== null && event.outcome !== 'REPLACED'
      ? [...recent.passed, event.reward > 0 ? 1 : 0].slice(-target.pass_rate_window)
      : recent.passed;
  const window = event.outcome === 'CANCELLED' ? recent.infra : [...recent.infra, infra ? 1 : 0].slice(-breaker.window);
  run.work.put(recentKey(run.runId), 'recent', { infra: window, passed });
}

/** Pauses the run when too many of the last attempts failed for reasons of the infrastructure. */
function trip(run: KnownRun): void {
  const { breaker } = configOf(run);
  const recent = recentOf(run);
  if (headOf(run).state !== 'ACTIVE' || recent.infra.length < breaker.min_attempts) return;
  const failed = recent.infra.reduce((sum, one) => sum + one, 0);
  if (failed / recent.infra.length <= breaker.max_infra_share) return;
  writeHead(run, { state: 'PAUSED', pausedBy: 'BREAKER' });
  run.work.put(recentKey(run.runId), 'recent', { ...recent, infra: [] });
  report(run, 'BREAKER', {
    code: 'BREAKER_OPEN',
    message: `${failed} of the last ${recent.infra.length} attempts failed for infrastructure reasons; mend the cause, then resume the run`,
  });
}

/** A group's decision: an admitted one goes to the pool, any other frees its share of admission. */
export function onGroupDecided(run: KnownRun, event: GroupDecided): void {
  const entry = run.work.get<RunGroupEntry>(groupKey(run.runId, event.group_id));
  if (!entry || entry.state !== 'OPEN') return;
  const head = headOf(run);
  const admitted = event.outcome === 'ADMITTED';
  writeHead(run, {
    openGroups: head.openGroups - 1,
    inFlight: head.inFlight - entry.inFlight,
    groupsDecided: head.groupsDecided + 1,
    groupsFiltered: head.groupsFiltered + (admitted || event.outcome === 'DELIVERED' ? 0 : 1),
  });
  if (!admitted || !isLive(run) || head.endReason === 'CANCEL') {
    run.work.remove(groupKey(run.runId, event.group_id));
    if (admitted)
      run.work.emit('group.commanded', {
        run_id: run.runId,
        group_id: event.group_id,
        command: 'CANCEL',
        reason: 'RUN_ENDED',
        idempotency_key: `${event.group_id}#RUN_ENDED`,
      });
    if (admitted) writeHead(run, { groupsFiltered: headOf(run).groupsFiltered + 1 });
    return;
  }
  const members = event.members.filter((member) => member.selected);
  const versions = members.flatMap((member) => (member.policy_version_min === null ? [] : [member.policy_version_min]));
  pool(run, {
    ...entry,
    state: 'POOLED',
    inFlight: 0,
    members,
    oldestVersion: versions.length > 0 ? Math.min(...versions) : null,
  });
}
