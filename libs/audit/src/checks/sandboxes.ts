import type { Check } from './check.ts';
import { groupBy } from './run-index.ts';

/**
 * Sandboxes live once: created, then ready and used, then ended; a recorded attempt used one that was created. Only warnings:
 * the manager's history is told without waiting for it, so a killed manager may leave a gap in it, or begin a sandbox again.
 */
export const checkSandboxes: Check = (run, findings) => {
  const events = run.log.of('sandbox.reported');
  if (events.length === 0 || run.truncated('sandbox.reported')) return;
  const histories = groupBy(events, ({ value }) => value.sandbox_id);
  for (const [id, history] of histories) {
    let created = false;
    let ended = false;
    for (const event of history) {
      switch (event.value.kind) {
        case 'CREATED':
          if (created) findings.warning('SANDBOX_CREATED_TWICE', event, `sandbox ${id} was created before`);
          if (ended) findings.warning('SANDBOX_REVIVED', event, `sandbox ${id} is created after it ended`);
          created = true;
          break;
        case 'READY':
        case 'COMMAND':
        case 'ENDED':
          if (!created) findings.warning('SANDBOX_NOT_CREATED', event, `sandbox ${id} was never created before this`);
          if (ended && event.value.kind === 'ENDED')
            findings.warning('SANDBOX_ENDED_TWICE', event, `sandbox ${id} had ended`);
          else if (ended) findings.warning('SANDBOX_REVIVED', event, `sandbox ${id} acts after it ended`);
          ended ||= event.value.kind === 'ENDED';
          break;
        case 'UNKNOWN':
          findings.warning('SANDBOX_EVENT_UNKNOWN', event, `sandbox ${id}: an event unknown to this audit`);
          break;
        default:
          event.value.kind satisfies never;
      }
    }
  }
  for (const record of run.log.of('trajectory.recorded')) {
    const id = record.value.sandbox_id;
    if (id !== null && !histories.has(id))
      findings.warning('SANDBOX_UNKNOWN', record, `${record.value.attempt_id} ran in sandbox ${id}, never reported`);
  }
};
