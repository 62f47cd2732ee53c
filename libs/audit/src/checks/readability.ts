import type { Check } from './check.ts';

/** Every record decodes under its topic's schema. */
export const checkReadability: Check = ({ log }, findings) => {
  for (const record of log.unreadable) {
    const message = `${record.code}: ${record.message}`;
    if (record.owner === 'run') findings.violation('SCHEMA_UNREADABLE', record, message);
    else findings.warning('SCHEMA_UNREADABLE', record, `${message} (neither key nor headers name a run)`);
  }
};
