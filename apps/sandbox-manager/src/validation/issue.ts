import { ApiError } from '../http/errors.ts';

/** One line of a 422 answer, in the order of its keys on the wire. */
export interface Issue {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

export const invalid = (issues: readonly Issue[]): ApiError => new ApiError(422, { detail: issues });
