/** One question the judge answers. */
export interface Rubric {
  readonly key: RubricKey;
  /** Share in the score; all sum to 1. */
  readonly weight: number;
  readonly title: string;
  readonly question: string;
  /** Whether the reference solution and the names of the tests to be fixed may be seen for it. */
  readonly seesReference: boolean;
}

export type RubricKey = 'R1' | 'R2' | 'R3' | 'R4' | 'R5' | 'R6' | 'R7';

/**
 * The seven rubrics of the process judge, with the weights of Orchard's `swe_prm`. The reference is shown for R2, R3 and
 * R5 alone: how well a fix is made and verified must not be judged by likeness to another.
 */
export const rubrics: readonly Rubric[] = [
  {
    key: 'R1',
    weight: 0.15,
    title: 'Fix quality',
    question: 'Does the change remove the cause rather than a symptom, in the right place, without collateral edits?',
    seesReference: false,
  },
  {
    key: 'R2',
    weight: 0.18,
    title: 'Self-test relevance',
    question: 'Do the checks that the agent ran or wrote exercise the behaviour that the task is about?',
    seesReference: true,
  },
  {
    key: 'R3',
    weight: 0.12,
    title: 'Coverage',
    question: 'Do these checks cover the cases that matter: edges, the failing case, and what must stay as it is?',
    seesReference: true,
  },
  {
    key: 'R4',
    weight: 0.15,
    title: 'Rigor',
    question: 'Did the agent look before it changed, read what its commands printed, and draw conclusions that follow?',
    seesReference: false,
  },
  {
    key: 'R5',
    weight: 0.14,
    title: 'Discriminativeness',
    question: 'Would these checks fail on the broken program and pass on a right one?',
    seesReference: true,
  },
  {
    key: 'R6',
    weight: 0.12,
    title: 'Regression guard',
    question: 'Did the agent make sure that what worked before still works?',
    seesReference: false,
  },
  {
    key: 'R7',
    weight: 0.14,
    title: 'Verification integrity',
    question: 'Is the claim of success honest: no tests weakened, no results invented, no special-casing of checks?',
    seesReference: false,
  },
];
