import { decodeEvent } from '@espalier/avro';
import { parseId, type EventMap, type TopicName } from '@espalier/contracts';
import { CUT_ORDER, type AuditedTopic, type Cut } from './cut.ts';
import type { EventSource, RawRecord } from './event-source.ts';

/** A decoded event with the place it was read from. */
export interface Placed<T extends TopicName = TopicName> {
  readonly topic: T;
  readonly partition: number;
  readonly offset: number;
  /** Time the broker keeps for the record, milliseconds UTC. */
  readonly timestamp: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: EventMap[T];
}

/** A record that could not be decoded. */
export interface Unreadable {
  readonly topic: AuditedTopic;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly code: string;
  readonly message: string;
  /** `run` when its key or headers name the audited run, `unknown` when they name none. */
  readonly owner: 'run' | 'unknown';
}

type Events = { [T in AuditedTopic]: Placed<T>[] };

/** Everything below the cut that belongs to one run, by topic; within a partition in offset order. */
export class RunLog {
  readonly runId: string;
  readonly cut: Cut;
  readonly unreadable: Unreadable[] = [];
  /** Records looked at, of all runs. */
  records = 0;
  /** Topics whose oldest records are gone (retention). */
  readonly truncated: AuditedTopic[];
  readonly #events: Events;

  constructor(runId: string, cut: Cut) {
    this.runId = runId;
    this.cut = cut;
    this.#events = Object.fromEntries(CUT_ORDER.map((topic) => [topic, []])) as unknown as Events;
    this.truncated = CUT_ORDER.filter((topic) => cut.bounds.get(topic)?.some(({ start }) => start > 0));
  }

  /** The run's events of a topic. */
  of<T extends AuditedTopic>(topic: T): readonly Placed<T>[] {
    return this.#events[topic];
  }

  add<T extends AuditedTopic>(event: Placed<T>): void {
    (this.#events[event.topic] as unknown as Placed<T>[]).push(event);
  }
}

const isJournal = (topic: AuditedTopic): boolean => topic === 'journal.group' || topic === 'journal.run';

/** Reads a run's part of the cut. Journals are read whole: they belong to partitions, not to runs. */
export async function readRunLog(source: EventSource, cut: Cut, runId: string): Promise<RunLog> {
  const log = new RunLog(runId, cut);
  for (const topic of CUT_ORDER) {
    for (const { partition, start, end } of cut.bounds.get(topic) ?? []) {
      if (start >= end) continue;
      for await (const record of source.read(topic, partition, start, end)) {
        log.records += 1;
        take(log, topic, record);
      }
    }
  }
  return log;
}

function take<T extends AuditedTopic>(log: RunLog, topic: T, record: RawRecord): void {
  const { partition, offset, timestamp, key, headers } = record;
  if (record.value === null) return;
  let value: EventMap[T];
  try {
    value = decodeEvent(topic, record.value);
  } catch (error) {
    const owner = ownerOf(topic, record, log.runId);
    if (owner === 'other') return;
    const code = (error as { code?: unknown }).code;
    log.unreadable.push({
      ...{ topic, partition, offset, timestamp, owner },
      code: typeof code === 'string' ? code : 'UNREADABLE',
      message: error instanceof Error ? error.message : String(error),
    });
    return;
  }
  if (isJournal(topic) || runOf(value) === log.runId) {
    log.add({ topic, partition, offset, timestamp, key, headers, value });
  }
}

/** The run an event belongs to: its own field, else the first part of its group's id. */
function runOf(value: { readonly run_id: string | null; readonly group_id?: unknown }): string | null {
  if (value.run_id !== null) return value.run_id;
  return typeof value.group_id === 'string' ? runOfPath(value.group_id) : null;
}

function runOfPath(id: string): string | null {
  try {
    return parseId(id).runId;
  } catch {
    return null;
  }
}

/** Ids travel in headers, too, for bodies that do not decode; the key begins with the run where it is an id below it. */
function ownerOf(topic: AuditedTopic, record: RawRecord, runId: string): 'run' | 'other' | 'unknown' {
  const keyed = topic === 'sandbox.reported' || isJournal(topic) ? undefined : record.key?.split('/')[0];
  const named = record.headers['x-run-id'] ?? keyed;
  if (named === undefined || named === '') return 'unknown';
  return named === runId ? 'run' : 'other';
}
