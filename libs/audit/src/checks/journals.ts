import type { Placed } from '../log/run-log.ts';
import type { Check } from './check.ts';
import { groupBy } from './run-index.ts';

/**
 * The journals of both processors: transactions of a partition count up without holes, time never goes back, and no input
 * is applied twice. What the effects were is `espalier replay`'s to judge.
 */
export const checkJournals: Check = (run, findings) => {
  for (const topic of ['journal.group', 'journal.run'] as const) {
    const entries = run.log.of(topic) as readonly Placed<'journal.group'>[];
    for (const [where, history] of groupBy(entries, ({ value }) => `${value.processor} ${value.partition}`)) {
      let last: Placed<'journal.group'> | undefined;
      const applied = new Map<string, number>();
      for (const entry of history) {
        const { transaction_no: number, now, applied: ranges } = entry.value;
        const before = last?.value;
        if (before && number !== before.transaction_no + 1 && !run.truncated(topic))
          findings.violation('JOURNAL_HOLE', entry, `${where}: transaction ${number} after ${before.transaction_no}`);
        if (!before && number > 1 && !run.truncated(topic))
          findings.violation('JOURNAL_HOLE', entry, `${where}: begins with transaction ${number}`);
        if (before && now < before.now)
          findings.violation('JOURNAL_TIME', entry, `${where}: time went back by ${before.now - now} ms`);
        for (const { topic: input, first_offset, last_offset } of ranges) {
          const reached = applied.get(input) ?? -1;
          if (first_offset <= reached)
            findings.violation(
              'INPUT_APPLIED_TWICE',
              entry,
              `${where}: ${input} offset ${first_offset}, applied up to ${reached}`,
            );
          if (last_offset < first_offset)
            findings.violation('JOURNAL_RANGE', entry, `${where}: ${input} ${first_offset} to ${last_offset}`);
          applied.set(input, Math.max(reached, last_offset));
        }
        last = entry;
      }
    }
  }
};
