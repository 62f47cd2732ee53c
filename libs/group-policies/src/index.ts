export { bandOf, mixesOf, roundHalfEven, type Band } from './band.ts';
export { decideGroup } from './decide.ts';
export { finalFilter, MIN_STD } from './final-filter.ts';
export { assertGroupConfig, GroupConfigError, groupConfigProblems } from './legality.ts';
export type { FilterReason, GroupVerdict, PoolMember, PoolView, Selection } from './pool.ts';
