import LogisticRegression from 'ml-logistic-regression';
import { Matrix } from 'ml-matrix';

/** A labelled example. */
export interface Example {
  readonly features: readonly number[];
  readonly passed: boolean;
}

/** A logistic model over standardised features. */
export interface LogisticModel {
  readonly mean: readonly number[];
  readonly scale: readonly number[];
  /** One per feature, then the bias. */
  readonly weights: readonly number[];
}

/** How to fit. */
export interface FitOptions {
  readonly steps: number;
  /**
   * Strength of the prior towards 0, as two made-up examples a feature at this many standard deviations, one passed and
   * one not. It keeps rare features from deciding alone.
   */
  readonly prior: number;
}

export const DEFAULT_FIT: FitOptions = { steps: 100, prior: 1.5 };

/**
 * Fits by full-batch gradient ascent from zero: the same examples in the same order give the same model. The step is the
 * largest that cannot diverge: the reciprocal of the log-likelihood's greatest curvature, a quarter of the largest
 * eigenvalue of X'X.
 */
export function fitLogistic(examples: readonly Example[], options: FitOptions = DEFAULT_FIT): LogisticModel {
  const width = examples[0]?.features.length ?? 0;
  const mean = column(width, (at) => average(examples.map(({ features }) => features[at] ?? 0)));
  const scale = column(width, (at) => {
    const variance = average(examples.map(({ features }) => ((features[at] ?? 0) - (mean[at] ?? 0)) ** 2));
    return variance < 1e-12 ? 0 : Math.sqrt(variance);
  });
  const rows = examples.map(({ features }) => [...standardised(features, mean, scale), 1]);
  const target = examples.map(({ passed }) => (passed ? 1 : 0));
  for (let at = 0; at < width; at++) {
    const row = new Array<number>(width + 1).fill(0);
    row[at] = options.prior;
    rows.push(row, row);
    target.push(1, 0);
  }
  const matrix = new Matrix(rows);
  const step = 4 / Math.max(largestEigenvalue(matrix.transpose().mmul(matrix)), 1e-9);
  const regression = new LogisticRegression({ numSteps: options.steps, learningRate: step });
  regression.train(matrix, Matrix.columnVector(target));
  // The classifier of class 0 against the rest gives the probability of class 1: passed.
  return { mean, scale, weights: regression.classifiers[0]?.weights.to1DArray() ?? [] };
}

/** Predicted probability of passing. */
export function predict(model: LogisticModel, features: readonly number[]): number {
  const row = [...standardised(features, model.mean, model.scale), 1];
  const score = row.reduce((sum, value, at) => sum + value * (model.weights[at] ?? 0), 0);
  return 1 / (1 + Math.exp(-score));
}

const standardised = (features: readonly number[], mean: readonly number[], scale: readonly number[]): number[] =>
  mean.map((middle, at) => {
    const spread = scale[at] ?? 0;
    // A feature that never varied says nothing, whatever it is now.
    return spread === 0 ? 0 : Math.max(-8, Math.min(8, ((features[at] ?? 0) - middle) / spread));
  });

const column = (width: number, of: (at: number) => number): number[] =>
  Array.from({ length: width }, (_, at) => of(at));

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Power iteration from a fixed start, with a margin for what it has not converged to. */
function largestEigenvalue(symmetric: Matrix): number {
  let vector = Matrix.ones(symmetric.rows, 1);
  let value = 0;
  for (let round = 0; round < 30; round++) {
    const next = symmetric.mmul(vector);
    value = next.norm('frobenius');
    if (value === 0) return 0;
    vector = next.div(value);
  }
  return value * 1.2;
}
