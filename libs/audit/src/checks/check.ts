import type { Findings } from '../report/finding.ts';
import type { RunIndex } from './run-index.ts';

/** One part of an audit: looks at a run's events and says what does not add up. */
export type Check = (run: RunIndex, findings: Findings) => void;
