import { DecodeError } from './errors.ts';

/**
 * Walks untrusted Avro bytes by their writer schema before avsc sees them. avsc allocates and loops by the block count an
 * array claims, so that five bytes can end a process; this walk refuses what the remaining bytes cannot hold, and NaN,
 * infinities and trailing bytes with it. Cost: one pass, no allocation.
 */

type Json = string | readonly Json[] | { readonly [key: string]: unknown };

/** A compiled step: moves the cursor over one value or throws {@link DecodeError}. */
type Step = (cursor: Cursor) => void;

/** Most items of arrays whose items may take no bytes at all (records without fields, nulls). */
const MAX_EMPTY_ITEMS = 10_000;
const MAX_DEPTH = 64;

class Cursor {
  position = 0;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  get remaining(): number {
    return this.bytes.length - this.position;
  }
  skip(count: number): void {
    if (count < 0 || count > this.remaining)
      throw new DecodeError(
        'AVRO_TRUNCATED',
        `${count} bytes needed at offset ${this.position}, ${this.remaining} left`,
      );
    this.position += count;
  }
  /** A zig-zag long; beyond 2^53 it is refused, as no consumer could hold it. */
  long(): number {
    let value = 0;
    let factor = 1;
    for (let index = 0; index < 10; index += 1) {
      const byte = this.bytes[this.position];
      if (byte === undefined) throw new DecodeError('AVRO_TRUNCATED', `integer cut at offset ${this.position}`);
      this.position += 1;
      value += (byte & 0x7f) * factor;
      if ((byte & 0x80) === 0) {
        if (value > Number.MAX_SAFE_INTEGER)
          throw new DecodeError('AVRO_MALFORMED', `integer beyond 2^53 before offset ${this.position}`);
        return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      }
      factor *= 128;
    }
    throw new DecodeError('AVRO_MALFORMED', `integer of more than ten bytes before offset ${this.position}`);
  }
}

const checkFinite = (value: number, at: number): void => {
  if (!Number.isFinite(value)) throw new DecodeError('AVRO_NOT_FINITE', `NaN or infinity at offset ${at}`);
};

const bytesStep: Step = (cursor) => {
  cursor.skip(cursor.long());
};

function packedStep(kind: string): Step {
  return (cursor) => {
    const length = cursor.long();
    const start = cursor.position;
    cursor.skip(length);
    if (length % 4 !== 0) throw new DecodeError('AVRO_MALFORMED', `${kind} of ${length} bytes at offset ${start}`);
    if (kind !== 'packed-float32') return;
    for (let at = start; at < start + length; at += 4) checkFinite(cursor.view.getFloat32(at, true), at);
  };
}

function blocks(cursor: Cursor, minimum: number, item: Step): void {
  let total = 0;
  for (;;) {
    let count = cursor.long();
    if (count === 0) return;
    if (count < 0) {
      count = -count;
      const size = cursor.long();
      if (size < 0 || size > cursor.remaining)
        throw new DecodeError(
          'AVRO_BLOCK_BOMB',
          `block of ${size} bytes at offset ${cursor.position}, ${cursor.remaining} left`,
        );
    }
    total += count;
    if (minimum > 0 ? count > cursor.remaining / minimum : total > MAX_EMPTY_ITEMS)
      throw new DecodeError(
        'AVRO_BLOCK_BOMB',
        `block of ${count} items at offset ${cursor.position}, ${cursor.remaining} bytes left`,
      );
    for (let index = 0; index < count; index += 1) item(cursor);
  }
}

interface Compiled {
  step: Step;
  /** Fewest bytes a value takes. */
  minimum: number;
}

class Compiler {
  private readonly named = new Map<string, Compiled>();

  compile(type: Json, depth = 0): Compiled {
    if (depth > MAX_DEPTH) throw new RangeError('schema nested too deeply');
    if (typeof type === 'string') return this.primitive(type);
    if (Array.isArray(type)) return this.union(type as readonly Json[], depth);
    const schema = type as { readonly [key: string]: unknown };
    const kind = schema['type'] as string;
    switch (kind) {
      case 'record':
        return this.record(schema, depth);
      case 'enum': {
        const count = (schema['symbols'] as string[]).length;
        return this.remember(schema, {
          minimum: 1,
          step: (cursor) => {
            const index = cursor.long();
            if (index < 0 || index >= count)
              throw new DecodeError(
                'AVRO_MALFORMED',
                `enum index ${index} of ${count} before offset ${cursor.position}`,
              );
          },
        });
      }
      case 'array': {
        const item = this.compile(schema['items'] as Json, depth + 1);
        return { minimum: 1, step: (cursor) => blocks(cursor, item.minimum, item.step) };
      }
      case 'map': {
        const item = this.compile(schema['values'] as Json, depth + 1);
        const pair: Step = (cursor) => {
          bytesStep(cursor);
          item.step(cursor);
        };
        return { minimum: 1, step: (cursor) => blocks(cursor, item.minimum + 1, pair) };
      }
      case 'fixed': {
        const size = schema['size'] as number;
        return this.remember(schema, { minimum: size, step: (cursor) => cursor.skip(size) });
      }
      case 'bytes': {
        const logical = schema['logicalType'];
        if (logical === 'packed-int32' || logical === 'packed-float32')
          return { minimum: 1, step: packedStep(logical) };
        return this.primitive('bytes');
      }
      default:
        return this.compile(schema['type'] as Json, depth + 1);
    }
  }

  private remember(schema: { readonly [key: string]: unknown }, compiled: Compiled): Compiled {
    this.named.set(schema['name'] as string, compiled);
    return compiled;
  }

  private record(schema: { readonly [key: string]: unknown }, depth: number): Compiled {
    const steps: Step[] = [];
    const compiled: Compiled = {
      minimum: 0,
      step: (cursor) => {
        for (const step of steps) step(cursor);
      },
    };
    this.remember(schema, compiled);
    for (const field of schema['fields'] as { type: Json }[]) {
      const inner = this.compile(field.type, depth + 1);
      steps.push(inner.step);
      compiled.minimum += inner.minimum;
    }
    return compiled;
  }

  private union(branches: readonly Json[], depth: number): Compiled {
    const steps = branches.map((branch) => this.compile(branch, depth + 1).step);
    return {
      minimum: 1,
      step: (cursor) => {
        const index = cursor.long();
        const step = steps[index];
        if (!step)
          throw new DecodeError(
            'AVRO_MALFORMED',
            `union branch ${index} of ${steps.length} before offset ${cursor.position}`,
          );
        step(cursor);
      },
    };
  }

  private primitive(name: string): Compiled {
    switch (name) {
      case 'null':
        return { minimum: 0, step: () => undefined };
      case 'boolean':
        return {
          minimum: 1,
          step: (cursor) => {
            const byte = cursor.bytes[cursor.position];
            cursor.skip(1);
            if (byte !== 0 && byte !== 1)
              throw new DecodeError('AVRO_MALFORMED', `boolean byte ${byte} before offset ${cursor.position}`);
          },
        };
      case 'int':
        return {
          minimum: 1,
          step: (cursor) => {
            const value = cursor.long();
            if (value < -0x80000000 || value > 0x7fffffff)
              throw new DecodeError('AVRO_MALFORMED', `int out of range before offset ${cursor.position}`);
          },
        };
      case 'long':
        return { minimum: 1, step: (cursor) => void cursor.long() };
      case 'float':
        return {
          minimum: 4,
          step: (cursor) => {
            cursor.skip(4);
            checkFinite(cursor.view.getFloat32(cursor.position - 4, true), cursor.position - 4);
          },
        };
      case 'double':
        return {
          minimum: 8,
          step: (cursor) => {
            cursor.skip(8);
            checkFinite(cursor.view.getFloat64(cursor.position - 8, true), cursor.position - 8);
          },
        };
      case 'bytes':
      case 'string':
        return { minimum: 1, step: bytesStep };
      default: {
        const known = this.named.get(name.split('.').at(-1) ?? name);
        if (!known) throw new TypeError(`unknown Avro type ${name}`);
        return known;
      }
    }
  }
}

/** Compiles the guard of a writer schema (JSON text). The result throws {@link DecodeError} on bytes that avsc must not see. */
export function compileGuard(schemaText: string): (bytes: Uint8Array) => void {
  const { step } = new Compiler().compile(JSON.parse(schemaText) as Json);
  return (bytes) => {
    const cursor = new Cursor(bytes);
    step(cursor);
    if (cursor.remaining > 0)
      throw new DecodeError(
        'AVRO_TRAILING',
        `${cursor.remaining} bytes after the record, which ends at offset ${cursor.position}`,
      );
  };
}
