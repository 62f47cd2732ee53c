import type { RunReported } from '@espalier/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderLine, renderRun } from './render.ts';
import { RunView, type ViewEvent } from './run-view.ts';
import { sparkline } from './sparkline.ts';

const RUN = 'r1';
let number = 0;

/** An event with the fields that a view looks at. */
function event<T extends ViewEvent['topic']>(topic: T, value: object): ViewEvent {
  number += 1;
  const envelope = { event_id: `e${number}`, occurred_at: 1_000 * number, run_id: RUN, producer: 'spec' };
  return { topic, value: { ...envelope, ...value } } as unknown as ViewEvent;
}

const report = (fields: Partial<RunReported>): ViewEvent =>
  event('run.reported', { kind: 'STATE', state: 'ACTIVE', message: '', waiting_for: null, progress: null, ...fields });

const submitted = event('run.submitted', {
  config: { purpose: 'TRAIN', target: { pass_rate: 0.5, batches: null, rollouts: 40, pass_rate_window: 4 } },
});
const attempt = (id: string): ViewEvent => event('rollout.requested', { attempt_id: id });
const ended = (id: string, outcome: string, failure: string | null = null): ViewEvent =>
  event('rollout.ended', { attempt_id: id, outcome, failure: failure === null ? null : { class: failure } });
const scored = (id: string, passed: boolean | null, revision = 0): ViewEvent =>
  event('trajectory.scored', { trajectory_id: id, revision, passed, policy_version_max: 1 });

const story: ViewEvent[] = [
  submitted,
  report({ state: 'ACTIVE' }),
  event('group.opened', { group_id: 'g1' }),
  event('group.opened', { group_id: 'g2' }),
  ...['a', 'b', 'c', 'd'].map(attempt),
  ended('a', 'REPLACED', 'INFRA'),
  scored('b/t', true),
  scored('b/t', true, 1),
  scored('c/t', false),
  ended('b', 'POOLED'),
  ended('c', 'POOLED'),
  event('group.decided', { group_id: 'g1', outcome: 'ADMITTED' }),
  event('batch.offered', { seq: 1 }),
  event('batch.offered', { seq: 1 }),
  event('batch.trained', { seq: 1 }),
];

const after = (events: readonly ViewEvent[]): RunView => {
  const view = new RunView(RUN);
  for (const item of events) view.apply(item);
  return view;
};

describe('RunView', () => {
  it('counts attempts, groups, batches and passes', () => {
    expect(after(story).snapshot()).toMatchObject({
      state: 'ACTIVE',
      rollouts: {
        requested: 4,
        running: 1,
        ended: 3,
        by_outcome: { REPLACED: 1, POOLED: 2 },
        by_failure: { INFRA: 1 },
      },
      groups: { opened: 2, forming: 1, decided: 1, by_outcome: { ADMITTED: 1 } },
      batches: { offered: 1, trained: 0 },
      scored: 2,
      passed: 1,
      pass_rate: 0.5,
      target: { pass_rate: 0.5, rollouts: 40, batches: null },
      ended: false,
    });
  });

  it('says the same whatever order the topics come in, and however often', () => {
    const state = story.filter(({ topic }) => topic !== 'run.reported');
    const expected = after(state).snapshot();
    fc.assert(
      fc.property(fc.shuffledSubarray(state, { minLength: state.length }), fc.subarray(state), (shuffled, repeated) => {
        expect(after([...shuffled, ...repeated]).snapshot()).toEqual(expected);
      }),
    );
  });

  it('takes the last trajectories by their time, whichever partition it heard of first', () => {
    const outcomes = ['p', 'q', 'r', 's', 't', 'u', 'v', 'w'].map((id, at) => scored(id, at >= 4));
    const view = after([submitted, ...outcomes.slice(4), ...outcomes.slice(0, 4)]);
    expect(view.snapshot()).toMatchObject({ first_pass_rate: 0, last_pass_rate: 1 });
    view.apply(scored('x', false));
    expect(view.points.map(({ passed }) => passed).lastIndexOf(false)).toBe(8);
  });

  it('says whether an event brought anything new', () => {
    const view = after(story);
    const again = ended('c', 'POOLED');
    expect(view.apply(again)).toBe(false);
    expect(view.apply(ended('d', 'CANCELLED'))).toBe(true);
    expect(view.apply({ ...again, value: { ...again.value, run_id: 'other' } } as ViewEvent)).toBe(false);
  });

  it('counts trained batches by the verdict of the run, which may rewind', () => {
    const view = after([...story, report({ kind: 'TRAINED', trained_seq: 3, policy_version: 2 })]);
    expect(view.snapshot()).toMatchObject({ batches: { trained: 3 }, policy_version: 2 });
    view.apply(report({ kind: 'LEARNER', trained_seq: 1 }));
    expect(view.snapshot().batches.trained).toBe(1);
  });

  it('takes the pass-rate target as met only when the run drained at it', () => {
    const outcomes = ['p', 'q', 'r', 's'].map((id) => scored(id, true));
    const progress = (rate: number): RunReported['progress'] =>
      ({ pass_rate: rate }) as unknown as RunReported['progress'];
    const drained = (rate: number): ViewEvent => report({ state: 'DRAINING', progress: progress(rate) });
    const done = report({ kind: 'ENDED', state: 'COMPLETED', message: 'TARGET' });
    expect(after([submitted, ...outcomes]).snapshot().pass_rate_met).toBe(false);
    expect(after([submitted, ...outcomes, drained(0.9), done]).snapshot()).toMatchObject({
      pass_rate_met: true,
      ended: true,
    });
    expect(after([submitted, ...outcomes, drained(0.4), done]).snapshot().pass_rate_met).toBe(false);
    // Fewer outcomes than the window holds do not count as a pass rate.
    expect(after([submitted, scored('p', true), drained(1), done]).snapshot().pass_rate_met).toBe(false);
  });

  it('keeps the state of a run when something about it is refused', () => {
    const view = after([submitted, report({ state: 'PAUSED', kind: 'BREAKER', message: 'too many failures' })]);
    view.apply(report({ kind: 'VERDICT', state: 'REFUSED', message: 'unknown' }));
    expect(view.snapshot()).toMatchObject({ state: 'PAUSED', message: 'too many failures' });
  });
});

describe('sparkline', () => {
  it('rises with the share of passes', () => {
    const outcomes = Array.from({ length: 64 }, (_, at) => at >= 32);
    expect(sparkline(outcomes, 4)).toBe('▁▁██');
    expect(sparkline([], 10)).toBe('');
    expect(sparkline([true], 10)).toBe('█');
  });

  it('uses no more columns than it is given', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), fc.integer({ min: 1, max: 40 }), (outcomes, width) => {
        expect(sparkline(outcomes, width).length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe('rendering', () => {
  const view = after(story);

  it('shows everything that a run is about', () => {
    const text = renderRun(view.snapshot(), view.points, [{ group: 'rollout-runner', lag: 3 }], 60_000, 100).join('\n');
    expect(text).toContain('1 running, 3 ended  (2 pooled, 1 replaced)');
    expect(text).toContain('1 infra');
    expect(text).toContain('1 forming, 1 decided  (1 admitted)');
    expect(text).toContain('50.0 %');
    expect(text).toContain('rollout-runner 3');
    expect(text).toContain('pass rate 50.0 % over 4');
  });

  it('puts it on one line', () => {
    expect(renderLine(view.snapshot(), 60_000)).toMatch(/1 running 3 ended 1 failed .* pass rate 50\.0 %$/);
  });
});
