export { decodeBody, decodeEvent, encodeBody, encodeEvent, MAX_EVENT_BYTES, schemaFingerprint } from './codec.ts';
export { compatibilityProblems } from './compatibility.ts';
export { DecodeError, EncodeError } from './errors.ts';
export { canonicalForm, crc64, fingerprintOf } from './fingerprint.ts';
export { compileGuard } from './guard.ts';
export { logicalTypes } from './logical-types.ts';
