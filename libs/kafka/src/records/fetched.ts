import type { RawRecord } from '../port.ts';

/** A record as kafkajs decodes it. */
export interface WireRecord {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestamp: string;
  readonly headers?: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
  readonly isControlRecord?: boolean;
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean };
}

/** One partition of a fetch response. */
export interface WirePartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
  readonly abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[] | null;
  readonly messages: readonly WireRecord[];
}

/** Data records from `from` on, and the offset after the last one of any kind. */
export interface Fetched {
  readonly records: RawRecord[];
  readonly nextOffset: number;
  readonly endOffset: number;
}

const ABORT_MARKER_KEY = Buffer.from([0, 0, 0, 0]);

/**
 * Takes the data records at or above `from` out of a response: drops transaction markers and what belongs to aborted
 * transactions (their ranges begin at the offsets the broker lists and end at an abort marker of the same producer).
 */
export function dataRecords(topic: string, from: number, response: WirePartition): Fetched {
  const aborted = [...(response.abortedTransactions ?? [])]
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .sort((a, b) => a.firstOffset - b.firstOffset);
  const open = new Set<string>();
  const records: RawRecord[] = [];
  let nextOffset = from;
  let begun = 0;
  for (const message of response.messages) {
    const offset = Number(message.offset);
    for (; begun < aborted.length; begun += 1) {
      const next = aborted[begun];
      if (next === undefined || next.firstOffset > offset) break;
      open.add(next.producerId);
    }
    const context = message.batchContext;
    if (message.isControlRecord === true) {
      if (context !== undefined && message.key !== null && message.key.equals(ABORT_MARKER_KEY))
        open.delete(context.producerId);
    } else if (offset >= from && !(context?.inTransaction === true && open.has(context.producerId))) {
      records.push({
        topic,
        partition: response.partition,
        offset,
        key: message.key,
        value: message.value,
        headers: headerStrings(message.headers),
        timestamp: Number(message.timestamp),
      });
    }
    nextOffset = Math.max(nextOffset, offset + 1);
  }
  // Everything in the answer lay below the wanted offset: its record was compacted away, so step over it.
  if (response.messages.length > 0 && nextOffset === from) nextOffset = from + 1;
  const stable = Number(response.lastStableOffset);
  return { records, nextOffset, endOffset: stable >= 0 ? stable : Number(response.highWatermark) };
}

function headerStrings(headers: WireRecord['headers']): Record<string, string> {
  const strings: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) strings[name] = typeof first === 'string' ? first : first.toString('utf8');
  }
  return strings;
}
