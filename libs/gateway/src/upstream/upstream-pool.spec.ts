import { describe, expect, it } from 'vitest';
import { UpstreamPool } from './upstream-pool.ts';

const endpoints = ['http://a/v1', 'http://b/v1', 'http://c/v1'];
const rollouts = Array.from({ length: 200 }, (_, index) => `run/task/0/r${index}`);

describe('UpstreamPool', () => {
  it('keeps a rollout on one server, and spreads rollouts over all', () => {
    const pool = new UpstreamPool();
    const chosen = rollouts.map((rollout) => pool.choose(rollout, endpoints));
    expect(rollouts.map((rollout) => pool.choose(rollout, [...endpoints].reverse()))).toEqual(chosen);
    for (const endpoint of endpoints) expect(chosen.filter((one) => one === endpoint).length).toBeGreaterThan(30);
  });

  it('moves only the rollouts of a server that failed, and moves them back', () => {
    let now = 0;
    const pool = new UpstreamPool(() => now);
    const before = rollouts.map((rollout) => pool.choose(rollout, endpoints));
    pool.failed('http://a/v1');
    const during = rollouts.map((rollout) => pool.choose(rollout, endpoints));
    expect(during).not.toContain('http://a/v1');
    for (const [index, endpoint] of before.entries())
      if (endpoint !== 'http://a/v1') expect(during[index]).toBe(endpoint);
    now += 60_000;
    expect(rollouts.map((rollout) => pool.choose(rollout, endpoints))).toEqual(before);
  });

  it('tries failed servers when there are no others, and says when there are none', () => {
    const pool = new UpstreamPool();
    pool.failed('http://a/v1');
    expect(pool.choose('r', ['http://a/v1'])).toBe('http://a/v1');
    expect(pool.choose('r', [])).toBeNull();
  });
});
