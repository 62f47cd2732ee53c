import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyRubric, rubricScore, RubricError } from './rubric.ts';

describe('rubricScore', () => {
  it('stays within the smallest and largest value', () => {
    const item = fc.record({
      value: fc.double({ min: 0, max: 1, noNaN: true }),
      weight: fc.double({ min: 0.01, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(item, { minLength: 1 }), (items) => {
        const judged = rubricScore(items) ?? Number.NaN;
        const values = items.map(({ value }) => value);
        expect(judged).toBeGreaterThanOrEqual(Math.min(...values) - 1e-12);
        expect(judged).toBeLessThanOrEqual(Math.max(...values) + 1e-12);
      }),
    );
  });

  it('is null as soon as one rubric was not judged, or none was asked for', () => {
    expect(rubricScore([{ value: 1 }, { value: null }])).toBeNull();
    expect(rubricScore([])).toBeNull();
  });

  it('refuses values outside its scale', () => {
    expect(() => rubricScore([{ value: 1.2 }])).toThrow(RubricError);
    expect(() => rubricScore([{ value: 1, weight: -1 }])).toThrow(RubricError);
  });
});

describe('applyRubric', () => {
  it("is R' = R + alpha * J", () => {
    expect(applyRubric(1, 0.5, 0.2)).toBeCloseTo(1.1);
    expect(applyRubric(0.3, 0.7, 0)).toBe(0.3);
  });

  it('is null when either part is', () => {
    expect(applyRubric(null, 1, 0.5)).toBeNull();
    expect(applyRubric(1, null, 0.5)).toBeNull();
  });
});
