export { ProcessorBugError, ProcessorError, ProcessorStateError } from './errors.ts';
export { ProcessorHost, type ProcessorOptions, type ProcessorTimings, type TaskStatus } from './host.ts';
export type { BatchLimits, TaskPhase } from './task/parts.ts';
export { MAX_ENTRY_BYTES, Step, type StepIdentity } from './step/step.ts';
export { KeyedStore, Overlay, type StoredEntry } from './state/keyed-store.ts';
export { Timers } from './state/timers.ts';
export { Replay, type Replayed, type ReplayOptions } from './replay/replay.ts';
export { admit, type Admitted } from './step/admission.ts';
