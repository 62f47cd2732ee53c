import { decodeEvent } from '@espalier/avro';
import { physicalTopics, type TopicName } from '@espalier/contracts';
import type { KafkaPort, RawRecord } from '@espalier/kafka';
import { CliError, EXIT } from '../errors.ts';
import { clip, moment } from '../output/format.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import type { CommandContext } from './command-context.ts';

/** A dead letter. */
interface DeadLetter {
  /** `<topic>:<partition>:<offset>`; what `show` and `replay` take. */
  readonly ref: string;
  readonly name: TopicName;
  readonly code: string;
  readonly message: string;
  readonly run_id: string | null;
  readonly buried_at: number;
  readonly original: string;
}

async function* deadLetters(kafka: KafkaPort): AsyncIterable<readonly [DeadLetter, RawRecord]> {
  const { prefix } = kafka.connection;
  const reader = kafka.reader();
  try {
    for (const { topic, name } of physicalTopics(prefix).filter(({ kind }) => kind === 'dead')) {
      const starts = new Map(
        (await kafka.admin.startOffsets(topic)).map(({ partition, offset }) => [partition, offset]),
      );
      for (const { partition, offset: end } of await kafka.admin.endOffsets(topic)) {
        const start = starts.get(partition) ?? 0;
        if (start >= end) continue;
        for await (const record of reader.readRange(topic, partition, start, end))
          yield [letterOf(name, record), record];
      }
    }
  } finally {
    await reader.close();
  }
}

function letterOf(name: TopicName, record: RawRecord): DeadLetter {
  const { topic, partition, offset, headers, timestamp } = record;
  const place = ['x-original-topic', 'x-original-partition', 'x-original-offset'].map(
    (header) => headers[header] ?? '?',
  );
  return {
    ref: `${topic}:${partition}:${offset}`,
    name,
    code: headers['x-error-code'] ?? 'UNKNOWN',
    message: headers['x-error-message'] ?? '',
    run_id: headers['x-run-id'] ?? runOf(name, record),
    buried_at: timestamp,
    original: place.join(':'),
  };
}

/** What another producer wrote has no such header, but may well decode. */
function runOf(name: TopicName, record: RawRecord): string | null {
  const event = decoded(name, record) as { readonly run_id?: string | null } | null;
  return event?.run_id ?? null;
}

export async function listDeadLetters(
  { config, out, exit }: CommandContext,
  flags: { readonly run?: string },
): Promise<void> {
  const found = await withPlane(config, 'read', async ({ kafka }) => {
    const letters: DeadLetter[] = [];
    for await (const [letter] of deadLetters(kafka))
      if (flags.run === undefined || letter.run_id === flags.run) letters.push(letter);
    return letters;
  });
  out.rows(
    found,
    [
      ['ref', ({ ref }) => ref],
      ['buried', ({ buried_at }) => moment(buried_at)],
      ['code', ({ code }) => code],
      ['run', ({ run_id }) => run_id],
      ['why', ({ message }) => clip(message, 80)],
    ],
    'no dead letters',
  );
  exit(EXIT.ok);
}

async function find(kafka: KafkaPort, ref: string): Promise<readonly [DeadLetter, RawRecord]> {
  for await (const found of deadLetters(kafka)) if (found[0].ref === ref) return found;
  throw new CliError('CLI_NOT_FOUND', `no dead letter "${ref}"; "espalier dead list" names those there are`, EXIT.no);
}

/** Shows a dead letter: its headers, and its event, or its bytes where they do not decode. */
export async function showDeadLetter({ config, out, exit }: CommandContext, ref: string): Promise<void> {
  const [letter, record] = await withPlane(config, 'read', ({ kafka }) => find(kafka, ref));
  const event = decoded(letter.name, record);
  const hex = record.value?.toString('hex') ?? null;
  const key = record.key?.toString('utf8') ?? null;
  out.value({ ...letter, key, headers: record.headers, event, ...(event === null ? { hex } : {}) });
  out.line(`${letter.ref}  ${letter.code}`);
  out.line(`  ${letter.message}`);
  out.line(`  from ${letter.original}, key ${key ?? '-'}`);
  for (const [name, value] of Object.entries(record.headers)) out.line(`  ${name}: ${clip(value, 160)}`);
  out.line(event === null ? `  bytes: ${clip(hex ?? '(none)', 400)}` : JSON.stringify(event, null, 2));
  exit(EXIT.ok);
}

function decoded(name: TopicName, { value }: RawRecord): unknown {
  if (value === null) return null;
  try {
    return decodeEvent(name, value);
  } catch {
    return null;
  }
}

/** Headers that describe the failure and would mislead a consumer of the replayed record. */
const FAILURE_HEADERS = /^x-(original-.*|attempt|error-.*|first-failed-at|not-before|hops)$/;

/** Produces a dead letter again to the topic it came from, as it was. It stays among the dead letters. */
export async function replayDeadLetters({ config, out, exit }: CommandContext, refs: readonly string[]): Promise<void> {
  await withPlane(config, 'write', async ({ kafka }) => {
    for (const ref of refs) {
      const [, record] = await find(kafka, ref);
      const topic = record.headers['x-original-topic'];
      if (topic === undefined) throw new CliError('CLI_NOT_FOUND', `${ref} does not say where it came from`, EXIT.no);
      const headers = Object.fromEntries(
        Object.entries(record.headers).filter(([name]) => !FAILURE_HEADERS.test(name)),
      );
      const { partition, offset } = await kafka
        .producer()
        .sendRaw({ topic, key: record.key, value: record.value, headers });
      out.value({ ref, topic, partition, offset });
      out.line(`${ref} is replayed to ${topic}, partition ${partition}, offset ${offset}`);
    }
    exit(EXIT.ok);
  });
}
