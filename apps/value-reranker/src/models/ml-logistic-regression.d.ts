/** The part used of a package that ships no types. */
declare module 'ml-logistic-regression' {
  import type { Matrix } from 'ml-matrix';

  /** A trained two-class model. */
  export interface TwoClassModel {
    readonly weights: Matrix;
  }

  /** One against the rest over class labels 0..k-1. */
  export default class LogisticRegression {
    constructor(options?: { readonly numSteps?: number; readonly learningRate?: number });
    /** After training, `classifiers[i]` predicts the probability of any class but i. */
    readonly classifiers: readonly TwoClassModel[];
    train(features: Matrix, target: Matrix): void;
  }
}
