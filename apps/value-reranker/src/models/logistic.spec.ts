import { describe, expect, it } from 'vitest';
import { hash32 } from '../features/hashing.ts';
import { fitLogistic, predict, type Example } from './logistic.ts';

/** Uniform in [-1, 1), the same for ever. */
const noise = (name: string): number => hash32(name) / 2 ** 31 - 1;

const examples = (count: number, passes: (x: readonly number[]) => boolean): Example[] =>
  Array.from({ length: count }, (_, at) => {
    const features = [noise(`a${at}`) * 100, noise(`b${at}`), 5];
    return { features, passed: passes(features) };
  });

describe('fitLogistic', () => {
  it('finds the direction that separates, whatever the scale of the features', () => {
    const model = fitLogistic(examples(400, ([a = 0, b = 0]) => a / 100 + b > 0));
    const right = examples(600, ([a = 0, b = 0]) => a / 100 + b > 0).slice(400);
    const hits = right.filter(({ features, passed }) => predict(model, features) > 0.5 === passed).length;
    expect(hits / right.length).toBeGreaterThan(0.93);
  });

  it('gives the base rate where features say nothing', () => {
    const model = fitLogistic(
      examples(600, () => true).map((one, at) => ({ ...one, passed: noise(`pass${at}`) > 0.5 })),
      { steps: 150, prior: 1.5 },
    );
    const mean = examples(200, () => true).reduce((sum, one) => sum + predict(model, one.features), 0) / 200;
    expect(mean).toBeGreaterThan(0.2);
    expect(mean).toBeLessThan(0.32);
  });

  it('is the same model for the same examples, and finite for odd ones', () => {
    const some = examples(50, ([a = 0]) => a > 0);
    expect(fitLogistic(some)).toEqual(fitLogistic(some));
    const model = fitLogistic([
      { features: [1e9, 0, 0], passed: true },
      { features: [0, 0, 0], passed: false },
    ]);
    expect(predict(model, [1e12, 7, 7])).toBeGreaterThan(0.5);
    expect(Number.isFinite(predict(model, [-1e12, 7, 7]))).toBe(true);
  });

  it('does not let one rare feature decide alone', () => {
    const rare = Array.from({ length: 200 }, (_, at) => ({
      features: [at === 0 ? 1 : 0],
      passed: at === 0 || at % 2 === 0,
    }));
    const sure = predict(fitLogistic(rare, { steps: 150, prior: 0.05 }), [1]);
    expect(predict(fitLogistic(rare, { steps: 150, prior: 6 }), [1])).toBeLessThan(sure - 0.05);
  });
});
