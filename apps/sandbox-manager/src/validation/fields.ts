import type { Coerced } from './coercions.ts';
import { invalid, type Issue } from './issue.ts';

type Coercion<T> = (input: unknown, loc: readonly (string | number)[]) => Coerced<T>;

/** Reads declared fields in order and collects every issue before it throws. Unknown fields are ignored. */
export class FieldReader {
  readonly #place: 'body' | 'query';
  readonly #source: Readonly<Record<string, unknown>>;
  readonly #issues: Issue[] = [];

  constructor(place: 'body' | 'query', source: Readonly<Record<string, unknown>>) {
    this.#place = place;
    this.#source = source;
  }

  /** A field that must be there. The value is meaningless until {@link done} has not thrown. */
  required<T>(name: string, coerce: Coercion<T>, fallback: T): T {
    if (!(name in this.#source)) {
      // Of a body the whole object is shown, of a query nothing.
      const input = this.#place === 'body' ? this.#source : null;
      this.#issues.push({ type: 'missing', loc: [this.#place, name], msg: 'Field required', input });
      return fallback;
    }
    return this.#coerce(name, coerce, fallback);
  }

  /** A field with a default; null is refused. */
  optional<T>(name: string, coerce: Coercion<T>, fallback: T): T {
    return name in this.#source ? this.#coerce(name, coerce, fallback) : fallback;
  }

  /** A field that may be null or absent. */
  nullable<T>(name: string, coerce: Coercion<T>): T | null {
    const value = this.#source[name];
    return value === undefined || value === null ? null : this.#coerce<T | null>(name, coerce, null);
  }

  /** Adds an issue that is found by looking at several fields. */
  report(type: string, name: string, msg: string): void {
    this.#issues.push({ type, loc: [this.#place, name], msg, input: this.#source[name] ?? null });
  }

  /** Throws 422 with every issue found. */
  done(): void {
    if (this.#issues.length > 0) throw invalid(this.#issues);
  }

  #coerce<T>(name: string, coerce: Coercion<T>, fallback: T): T {
    const read = coerce(this.#source[name], [this.#place, name]);
    if ('value' in read) return read.value;
    this.#issues.push(...read.issues);
    return fallback;
  }
}
