export * from './errors.ts';
export type * from './port.ts';
export type * from './work-port.ts';
export type * from './processing-port.ts';
export { partitionFor } from './produce/partitioner.ts';
export { derivedId } from './produce/derived-id.ts';
export { openKafka } from './open.ts';
