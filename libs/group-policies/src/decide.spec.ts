import type { GroupConfig } from '@espalier/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideGroup, groupConfigProblems, type GroupVerdict, type PoolMember, type PoolView } from './index.ts';

const config = (over: Partial<GroupConfig> = {}): GroupConfig => ({
  size: 4,
  budget: 6,
  mode: 'PER_COMPLETION',
  stride: 6,
  rho_min: 0.25,
  rho_max: 0.75,
  relaxed: true,
  require_std: true,
  require_positive: true,
  max_replacements: 4,
  ...over,
});

const member = (rolloutIndex: number, reward: number | null, over: Partial<PoolMember> = {}): PoolMember => ({
  trajectoryId: `run/task/0/r${rolloutIndex}/a0/t`,
  rolloutIndex,
  status: 'COMPLETED',
  reward,
  sampledTokens: 10,
  order: rolloutIndex,
  ...over,
});

const viewOf = (group: GroupConfig, members: readonly PoolMember[], open: number): PoolView => ({
  config: group,
  scored: members.filter(({ reward }) => reward !== null),
  unscorable: members.filter(({ reward }) => reward === null),
  open,
  launched: members.length + open,
});

const rewards = (...values: (number | null)[]): PoolMember[] => values.map((reward, index) => member(index, reward));

/** Algorithm 1 and its code, transcribed line by line from the published description; nothing shared with the library. */
function algorithmOne(pool: PoolMember[], n: number, low: number, high: number, target: number): PoolMember[] | null {
  const unusable = (t: PoolMember): boolean => t.reward === null || t.status === 'CANCELLED' || t.timeExceeded === true;
  const key = (t: PoolMember): number => {
    if (t.status === 'COMPLETED') return 0;
    if (t.status === 'TRUNCATED') return t.timeExceeded ? 2 : 1;
    return 3;
  };
  const sorted = (ts: PoolMember[]): PoolMember[] =>
    ts
      .map((t, at) => ({ t, at }))
      .sort((a, b) => key(a.t) - key(b.t) || a.at - b.at)
      .map(({ t }) => t);
  const plus = sorted(pool.filter((t) => !unusable(t) && t.reward! > 0));
  const minus = sorted(pool.filter((t) => !unusable(t) && t.reward! <= 0));
  if (plus.length + minus.length < n) return null;
  const pythonRound = (x: number): number => {
    const candidates = [Math.floor(x), Math.ceil(x)];
    candidates.sort((a, b) => Math.abs(a - x) - Math.abs(b - x) || Math.abs(a % 2) - Math.abs(b % 2));
    return candidates[0]!;
  };
  const star = pythonRound(target * n);
  const least = Math.ceil(low * n);
  const most = Math.floor(high * n);
  for (let distance = 0; distance <= n; distance++) {
    for (const positives of distance === 0 ? [star] : [star - distance, star + distance]) {
      if (positives < least || positives > most) continue;
      if (positives <= plus.length && n - positives <= minus.length)
        return [...plus.slice(0, positives), ...minus.slice(0, n - positives)];
    }
  }
  return null;
}

/** The published schedule over a fixed list of rollouts, including the final filter. */
function published(group: GroupConfig, all: PoolMember[]): GroupVerdict {
  const middle = (group.rho_min + group.rho_max) / 2;
  let selection: 'EXACT' | 'RELAXED' | 'BEST_EFFORT' = 'EXACT';
  let chosen: PoolMember[] | null = null;
  let pool: PoolMember[] = [];
  for (let t = 0; t < group.budget && !chosen; t += group.stride) {
    pool = all.slice(0, Math.min(t + group.stride, group.budget));
    chosen = algorithmOne(pool, group.size, group.rho_min, group.rho_max, middle);
  }
  if (!chosen) {
    selection = 'RELAXED';
    chosen = algorithmOne(pool, group.size, 0, 1, 0.5);
  }
  if (!chosen) {
    selection = 'BEST_EFFORT';
    const rank = (t: PoolMember): number =>
      t.status === 'COMPLETED' ? 0 : t.status === 'TRUNCATED' ? (t.timeExceeded ? 2 : 1) : 3;
    const part = (pick: (t: PoolMember) => boolean): PoolMember[] =>
      [0, 1, 2, 3].flatMap((wanted) => pool.filter((t) => pick(t) && rank(t) === wanted));
    const back = (t: PoolMember): boolean => t.reward === null || t.status === 'CANCELLED' || t.timeExceeded === true;
    chosen = [
      ...part((t) => !back(t) && t.reward! > 0),
      ...part((t) => !back(t) && t.reward! <= 0),
      ...part(back),
    ].slice(0, group.size);
  }
  const aborted = chosen.some((t) => t.reward === null || t.status === 'CANCELLED');
  if (aborted) return { kind: 'FILTER', reason: 'TOO_FEW' };
  const values = chosen.map((t) => t.reward!);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const std = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / (values.length - 1));
  if (!(std > 1e-6)) return { kind: 'FILTER', reason: 'ZERO_STD' };
  if (!(Math.max(...values) > 0)) return { kind: 'FILTER', reason: 'NO_POSITIVE' };
  return { kind: 'ACCEPT', selection, selected: chosen.map((t) => t.trajectoryId) };
}

const anyMember = (index: number): fc.Arbitrary<PoolMember> =>
  fc.record({
    trajectoryId: fc.constant(`run/task/0/r${index}/a0/t`),
    rolloutIndex: fc.constant(index),
    status: fc.constantFrom('COMPLETED', 'COMPLETED', 'COMPLETED', 'TRUNCATED', 'FAILED', 'CANCELLED'),
    reward: fc.constantFrom(1, 1, 0, 0, -1, 0.5, null),
    sampledTokens: fc.nat(100),
    order: fc.nat(100),
    timeExceeded: fc.boolean(),
  });

const legalConfig = fc
  .record({ size: fc.integer({ min: 1, max: 8 }), extra: fc.nat(8), twentieths: fc.tuple(fc.nat(20), fc.nat(20)) })
  .chain(({ size, extra, twentieths: [a, b] }) =>
    fc.record({
      size: fc.constant(size),
      budget: fc.constant(size + extra),
      mode: fc.constantFrom<GroupConfig['mode']>('PER_COMPLETION', 'STRIDE'),
      stride: fc.integer({ min: 1, max: size + extra }),
      rho_min: fc.constant(Math.min(a, b) / 20),
      rho_max: fc.constant(Math.max(a, b) / 20),
      relaxed: fc.boolean(),
      require_std: fc.boolean(),
      require_positive: fc.boolean(),
      max_replacements: fc.nat(3),
    }),
  );

const groupWithPool = legalConfig.chain((group) =>
  fc.record({
    group: fc.constant(group),
    members: fc.tuple(...Array.from({ length: group.budget }, (_, index) => anyMember(index))),
    completion: fc.shuffledSubarray(
      Array.from({ length: group.budget }, (_, index) => index),
      { minLength: group.budget, maxLength: group.budget },
    ),
  }),
);

/** Drives a group as the coordinator does; returns the end and how many rollouts were launched and ended by then. */
function drive(
  group: GroupConfig,
  members: readonly PoolMember[],
  completion: readonly number[],
): { verdict: GroupVerdict; launched: number; ended: PoolMember[] } {
  let launched = 0;
  const ended: PoolMember[] = [];
  for (let step = 0; step < 4 * group.budget + 4; step++) {
    const verdict = decideGroup(viewOf(group, ended, launched - ended.length));
    if (verdict.kind === 'LAUNCH') {
      expect(verdict.count).toBeGreaterThan(0);
      launched += verdict.count;
      expect(launched).toBeLessThanOrEqual(group.budget);
      continue;
    }
    if (verdict.kind !== 'WAIT') return { verdict, launched, ended };
    const next = completion.find((index) => index < launched && !ended.includes(members[index]!));
    if (next === undefined) throw new Error('waits although nothing is open');
    ended.push(members[next]!);
  }
  throw new Error('never decides');
}

describe('published schedule (STRIDE)', () => {
  it('equals Algorithm 1 with the final filter, bit for bit', () => {
    fc.assert(
      fc.property(groupWithPool, ({ group, members, completion }) => {
        const stride: GroupConfig = {
          ...group,
          mode: 'STRIDE',
          relaxed: true,
          require_std: true,
          require_positive: true,
        };
        expect(drive(stride, members, completion).verdict).toEqual(published(stride, members));
      }),
      { numRuns: 2000 },
    );
  });

  it('waits for the whole stride, then goes on with the rest of the budget', () => {
    const group = config({ mode: 'STRIDE', stride: 4 });
    expect(decideGroup(viewOf(group, [], 0))).toEqual({ kind: 'LAUNCH', count: 4 });
    expect(decideGroup(viewOf(group, rewards(1, 1, 0), 1))).toEqual({ kind: 'WAIT' });
    expect(decideGroup(viewOf(group, rewards(0, 0, 0, 0), 0))).toEqual({ kind: 'LAUNCH', count: 2 });
  });

  it('rounds half to even and prefers the smaller of two mixes at equal distance', () => {
    // rho* N = 2.5 -> 2; the pool cannot fill 2, and 1 is as far away as 3.
    const group = config({ mode: 'STRIDE', size: 5, budget: 8, stride: 8, rho_min: 0, rho_max: 1 });
    const verdict = decideGroup(viewOf(group, rewards(1, 1, 1, 1, 1, 0, 0, 0), 0));
    expect(verdict).toMatchObject({ kind: 'ACCEPT', selection: 'EXACT' });
    const selected = verdict.kind === 'ACCEPT' ? verdict.selected : [];
    expect(selected).toEqual([0, 1, 5, 6, 7].map((index) => `run/task/0/r${index}/a0/t`));
  });
});

describe('per completion', () => {
  it('launches the whole budget at once and accepts at the first completion that fills the band', () => {
    const group = config();
    expect(decideGroup(viewOf(group, [], 0))).toEqual({ kind: 'LAUNCH', count: 6 });
    expect(decideGroup(viewOf(group, rewards(0, 0, 0), 3))).toEqual({ kind: 'WAIT' });
    expect(decideGroup(viewOf(group, rewards(0, 0, 0, 1), 2))).toMatchObject({ kind: 'ACCEPT', selection: 'EXACT' });
  });

  it('stops as soon as the band is out of reach where no relaxed group is allowed', () => {
    const strict = config({ relaxed: false, rho_min: 0.5, rho_max: 0.5 });
    expect(decideGroup(viewOf(strict, rewards(0, 0, 0, 0), 2))).toEqual({ kind: 'WAIT' });
    expect(decideGroup(viewOf(strict, rewards(0, 0, 0, 0, 0), 1))).toEqual({ kind: 'FILTER', reason: 'INFEASIBLE' });
    expect(decideGroup(viewOf(strict, rewards(1, null, null, null), 2))).toEqual({ kind: 'FILTER', reason: 'TOO_FEW' });
  });

  it('relaxes only when nothing is open any more', () => {
    const balanced = config({ rho_min: 0.5, rho_max: 0.5 });
    expect(decideGroup(viewOf(balanced, rewards(0, 0, 0, 0, 0), 1))).toEqual({ kind: 'WAIT' });
    expect(decideGroup(viewOf(balanced, rewards(0, 0, 0, 0, 0, 1), 0))).toMatchObject({ selection: 'RELAXED' });
    expect(decideGroup(viewOf(balanced, rewards(0, 0, 0, 0, 0, 0), 0))).toEqual({ kind: 'FILTER', reason: 'ZERO_STD' });
  });

  it('names a group without a positive where spread is not asked for', () => {
    const group = config({ require_std: false });
    expect(decideGroup(viewOf(group, rewards(0, 0, -1, 0, 0, 0), 0))).toEqual({
      kind: 'FILTER',
      reason: 'NO_POSITIVE',
    });
  });

  it('chooses among ties by a draw that neither completion order nor length can move', () => {
    fc.assert(
      fc.property(
        groupWithPool,
        fc.array(fc.nat(1000), { minLength: 32, maxLength: 32 }),
        ({ group, members }, numbers) => {
          const view = viewOf({ ...group, mode: 'PER_COMPLETION' }, members, 0);
          const moved = members.map((one, at) => ({
            ...one,
            order: numbers[2 * at] ?? 0,
            sampledTokens: numbers[2 * at + 1] ?? 0,
          }));
          const shuffled = viewOf({ ...group, mode: 'PER_COMPLETION' }, moved.toReversed(), 0);
          expect(decideGroup(shuffled)).toEqual(decideGroup(view));
        },
      ),
    );
    // The draw does not follow the index either: over many groups each index is chosen about equally often.
    const counts = [0, 0, 0, 0, 0, 0];
    for (let group = 0; group < 600; group++) {
      const members = rewards(1, 1, 1, 0, 0, 0).map((one) => ({
        ...one,
        trajectoryId: `run/task-${group}/0/r${one.rolloutIndex}/a0/t`,
      }));
      const verdict = decideGroup(viewOf(config({ rho_min: 0.5, rho_max: 0.5 }), members, 0));
      for (const id of verdict.kind === 'ACCEPT' ? verdict.selected : [])
        counts[Number(/r(\d)/.exec(id.slice(id.lastIndexOf('/r')))?.[1])]! += 1;
    }
    for (const count of counts) expect(Math.abs(count - 400)).toBeLessThan(60);
  });

  it('takes 11 of 20 for a share of 0.55, which floating point puts just above 11', () => {
    const group = config({ size: 20, budget: 20, rho_min: 0.55, rho_max: 0.55 });
    const pool = rewards(...Array.from({ length: 20 }, (_, index) => (index < 11 ? 1 : 0)));
    expect(decideGroup(viewOf(group, pool, 0))).toMatchObject({ kind: 'ACCEPT', selection: 'EXACT' });
  });
});

describe('every legal configuration', () => {
  it('ends in a group that keeps its promises, whatever ends in whichever order', () => {
    fc.assert(
      fc.property(groupWithPool, ({ group, members, completion }) => {
        expect(groupConfigProblems(group)).toEqual([]);
        const { verdict, ended } = drive(group, members, completion);
        if (verdict.kind !== 'ACCEPT') return;
        expect(new Set(verdict.selected).size).toBe(group.size);
        const chosen = verdict.selected.map((id) => ended.find(({ trajectoryId }) => trajectoryId === id));
        const values = chosen.map((one) => one?.reward ?? Number.NaN);
        expect(values.every(Number.isFinite)).toBe(true);
        const positives = values.filter((value) => value > 0).length;
        expect(values.slice(0, positives).every((value) => value > 0) || verdict.selection === 'BEST_EFFORT').toBe(
          true,
        );
        if (group.require_positive) expect(positives).toBeGreaterThan(0);
        if (group.require_std) expect(new Set(values).size).toBeGreaterThan(1);
        if (verdict.selection === 'EXACT') {
          expect(positives).toBeGreaterThanOrEqual(group.rho_min * group.size - 1e-6);
          expect(positives).toBeLessThanOrEqual(group.rho_max * group.size + 1e-6);
        } else expect(group.relaxed).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives up early only where the complete pool would be dropped too, and loses no group by deciding early', () => {
    fc.assert(
      fc.property(groupWithPool, ({ group, members, completion }) => {
        const eager: GroupConfig = { ...group, mode: 'PER_COMPLETION' };
        const { verdict } = drive(eager, members, completion);
        const complete = decideGroup(viewOf(eager, members, 0));
        expect(verdict.kind).toBe(complete.kind);
        if (verdict.kind === 'ACCEPT' && complete.kind === 'ACCEPT') expect(verdict.selection).toBe(complete.selection);
      }),
      { numRuns: 2000 },
    );
  });

  it('does not wait where no outcome of the open rollouts can help', () => {
    fc.assert(
      fc.property(groupWithPool, fc.integer({ min: 1, max: 3 }), ({ group, members }, open) => {
        // Mixes of one kind alone depend on graded rewards; bands without them make the enumeration below complete.
        const strict: GroupConfig = { ...group, mode: 'PER_COMPLETION', rho_min: 0.25, rho_max: 0.75 };
        if (strict.size < 2 || open > strict.budget) return;
        const ended = members.slice(0, strict.budget - open);
        if (decideGroup(viewOf(strict, ended, open)).kind !== 'WAIT') return;
        const outcomes = [1, 0, null] as const;
        const helped = Array.from({ length: outcomes.length ** open }, (_, code) => {
          const rest = Array.from({ length: open }, (_unused, at) =>
            member(ended.length + at, outcomes[Math.floor(code / outcomes.length ** at) % outcomes.length] ?? null),
          );
          return decideGroup(viewOf(strict, [...ended, ...rest], 0)).kind;
        });
        expect(helped).toContain('ACCEPT');
      }),
      { numRuns: 2000 },
    );
  });

  it('is refused with every problem named where it is not legal', () => {
    expect(
      groupConfigProblems(config({ size: 0, budget: -1, mode: 'UNKNOWN', rho_min: 0.8, rho_max: 0.2 })),
    ).toHaveLength(4);
    expect(groupConfigProblems(config({ mode: 'STRIDE', stride: 7 }))).toHaveLength(1);
    expect(() => decideGroup(viewOf(config({ mode: 'UNKNOWN' }), [], 0))).toThrowError(
      expect.objectContaining({ code: 'GROUP_CONFIG_INVALID' }),
    );
  });
});
