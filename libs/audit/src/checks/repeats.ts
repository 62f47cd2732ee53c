import type { Placed } from '../log/run-log.ts';
import { CUT_ORDER, type AuditedTopic } from '../log/cut.ts';
import type { Check } from './check.ts';
import { groupBy } from './run-index.ts';

/** Written inside a processor's transactions: a record of these can lie in the log once only. */
const TRANSACTIONAL: ReadonlySet<AuditedTopic> = new Set<AuditedTopic>([
  'run.reported',
  'group.opened',
  'group.commanded',
  'rollout.requested',
  'rollout.ruled',
  'scoring.requested',
  'trajectory.scored',
  'rollout.ended',
  'group.decided',
  'batch.offered',
  'journal.group',
  'journal.run',
]);

/** A worker without a free slot hands a request to another partition, with a hop count in a header. */
const wasHandedOn = (record: Placed<AuditedTopic>): boolean =>
  record.topic.endsWith('.requested') && Object.keys(record.headers).some((name) => name === 'x-hops');

/**
 * Events are there once, and those of one subject in the order of their time. Producers outside the processors may repeat
 * themselves after a crash (the first one counts) and their clocks may step, so theirs are warnings.
 */
export const checkRepeats: Check = ({ log }, findings) => {
  for (const topic of CUT_ORDER) {
    const records = log.of<AuditedTopic>(topic);
    const first = new Map<string, Placed<AuditedTopic>>();
    for (const record of records) {
      const { event_id: id } = record.value;
      const known = first.get(id);
      if (!known) first.set(id, record);
      else if (!wasHandedOn(record) && !wasHandedOn(known)) {
        const message = `event ${id} lies at ${known.partition}:${known.offset}, too`;
        if (TRANSACTIONAL.has(topic)) findings.violation('EVENT_TWICE', record, message);
        else findings.warning('EVENT_REPEATED', record, `${message}; the first one counts`);
      }
    }
    for (const stream of groupBy(records, streamOf).values()) {
      let last: Placed<AuditedTopic> | undefined;
      for (const record of stream) {
        if (wasHandedOn(record)) continue;
        if (last && record.value.occurred_at < last.value.occurred_at)
          findings.warning(
            'EVENT_ORDER',
            record,
            `happened ${last.value.occurred_at - record.value.occurred_at} ms before the record ahead of it (offset ${last.offset})`,
          );
        else last = record;
      }
    }
  }
};

/** Events whose order means something: of one partition, one producer's clock and one subject. */
function streamOf({ partition, topic, value }: Placed<AuditedTopic>): string {
  const subject = value as { group_id?: string; attempt_id?: string; sandbox_id?: string };
  const clock = TRANSACTIONAL.has(topic) ? '' : value.producer;
  return [partition, clock, subject.sandbox_id ?? subject.attempt_id ?? subject.group_id ?? value.run_id ?? ''].join(
    '|',
  );
}
