import avsc from 'avsc';
import {
  pastSchemaTexts,
  schemaTexts,
  type BodyDraftMap,
  type BodyMap,
  type BodyName,
  type EventMap,
  type SchemaName,
  type TopicName,
} from '@espalier/contracts';
import { DecodeError, EncodeError } from './errors.ts';
import { fingerprintOf } from './fingerprint.ts';
import { compileGuard } from './guard.ts';
import { logicalTypes } from './logical-types.ts';

/** Largest event accepted, bytes; bodies go to the object store. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;
const HEADER_BYTES = 10;

interface Writer {
  readonly guard: (bytes: Uint8Array) => void;
  readonly read: (bytes: Buffer) => unknown;
}

interface Compiled {
  readonly type: avsc.Type;
  readonly header: Buffer;
  /** By fingerprint (hex): the current schema and every released one. */
  readonly writers: ReadonlyMap<string, Writer>;
}

/**
 * avsc writes into one buffer of 1 KiB, and writes a value again from the start when it did not fit: a trajectory's body and most
 * events were written twice. Not in avsc's types; without it encoding is slower and no less right.
 */
const SCRATCH_BYTES = 1024 * 1024;
(avsc.Type as unknown as { __reset?: (bytes: number) => void }).__reset?.(SCRATCH_BYTES);

const compiled = new Map<SchemaName, Compiled>();

const typeOf = (text: string): avsc.Type => avsc.Type.forSchema(JSON.parse(text) as avsc.Schema, { logicalTypes });

function headerOf(text: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = 0xc3;
  header[1] = 0x01;
  header.writeBigUInt64LE(fingerprintOf(text), 2);
  return header;
}

function compile(name: SchemaName): Compiled {
  const known = compiled.get(name);
  if (known) return known;
  const text = schemaTexts[name];
  const type = typeOf(text);
  const header = headerOf(text);
  const writers = new Map<string, Writer>([
    [header.toString('hex'), { guard: compileGuard(text), read: (bytes) => type.fromBuffer(bytes) as unknown }],
  ]);
  for (const past of pastSchemaTexts[name] ?? []) {
    const writerType = typeOf(past);
    const resolver = type.createResolver(writerType);
    writers.set(headerOf(past).toString('hex'), {
      guard: compileGuard(past),
      read: (bytes) => type.fromBuffer(bytes, resolver) as unknown,
    });
  }
  const entry = { type, header, writers };
  compiled.set(name, entry);
  return entry;
}

/** Encodes `value` under the schema `name`, single-object encoding. Throws {@link EncodeError} naming the bad field. */
function encode(name: SchemaName, value: unknown): Buffer {
  const { type, header, writers } = compile(name);
  let body: Buffer;
  try {
    body = type.toBuffer(value);
  } catch (error) {
    let path = '';
    type.isValid(value, { errorHook: (at: string[]) => (path ||= at.join('.')) });
    throw new EncodeError(name, path, error instanceof Error ? error.message : String(error));
  }
  try {
    writers.get(header.toString('hex'))?.guard(body);
  } catch (error) {
    throw new EncodeError(name, '', error instanceof Error ? error.message : String(error));
  }
  return Buffer.concat([header, body]);
}

/** Decodes single-object bytes of the schema `name`. Throws {@link DecodeError}. */
function decode(name: SchemaName, bytes: Buffer, limit: number): unknown {
  if (bytes.length === 0) throw new DecodeError('AVRO_EMPTY', `${name}: the record has no bytes`);
  if (bytes.length > limit) throw new DecodeError('AVRO_TOO_LARGE', `${name}: ${bytes.length} bytes, ${limit} allowed`);
  if (bytes.length < HEADER_BYTES || bytes[0] !== 0xc3 || bytes[1] !== 0x01)
    throw new DecodeError('AVRO_FRAMING', `${name}: does not begin with a single-object header (c3 01 + fingerprint)`);
  const writer = compile(name).writers.get(bytes.toString('hex', 0, HEADER_BYTES));
  if (!writer)
    throw new DecodeError(
      'AVRO_UNKNOWN_SCHEMA',
      `${name}: written with unknown schema ${bytes.readBigUInt64LE(2).toString(16)}`,
    );
  const body = bytes.subarray(HEADER_BYTES);
  writer.guard(body);
  try {
    return writer.read(body);
  } catch (error) {
    throw new DecodeError('AVRO_MALFORMED', `${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Encodes an event of `topic`. Throws {@link EncodeError}. */
export const encodeEvent = <T extends TopicName>(topic: T, event: unknown): Buffer => encode(topic, event);

/** Decodes an event of `topic`. Throws {@link DecodeError}. */
export const decodeEvent = <T extends TopicName>(topic: T, bytes: Buffer): EventMap[T] =>
  decode(topic, bytes, MAX_EVENT_BYTES) as EventMap[T];

/** Encodes an object-store body. Throws {@link EncodeError}. */
export const encodeBody = <B extends BodyName>(name: B, body: BodyDraftMap[B]): Buffer => encode(name, body);

/** Decodes an object-store body of at most 1 GiB. Throws {@link DecodeError}. */
export const decodeBody = <B extends BodyName>(name: B, bytes: Buffer): BodyMap[B] =>
  decode(name, bytes, 1024 * 1024 * 1024) as BodyMap[B];

/** Fingerprint of the current schema of `name`, hex. */
export const schemaFingerprint = (name: SchemaName): string =>
  fingerprintOf(schemaTexts[name]).toString(16).padStart(16, '0');
