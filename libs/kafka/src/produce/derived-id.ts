import { v5 } from 'uuid';

/** Namespace of every id that Espalier derives. */
const NAMESPACE = '6f1d7a52-0c3b-5f5e-9a77-2f6f1c9ad7e4';

/** A UUIDv5 of the parts: equal parts give the equal id, whatever process derives it. */
export const derivedId = (...parts: readonly (string | number)[]): string => v5(JSON.stringify(parts), NAMESPACE);
