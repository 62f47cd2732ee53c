export { GroupMachine } from './group/machine.ts';
export { runConfigProblems } from './run/legality.ts';
export { RunMachine } from './run/machine.ts';
export { digestOf } from './state/canonical.ts';
export { DEFAULT_TIMINGS, type Timings } from './timings.ts';
