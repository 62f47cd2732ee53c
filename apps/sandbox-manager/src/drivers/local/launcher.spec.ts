import { describe, expect, it } from 'vitest';
import { probeIsolation, requireIsolation } from './launcher.ts';

const full = { found: true, isolation: 'bubblewrap', cgroup: ['cpu', 'memory', 'pids'] };

describe('requireIsolation', () => {
  it('takes what gives all that is asked for', () => {
    expect(() => requireIsolation(full, ['root', 'cgroup'])).not.toThrow();
    expect(() => requireIsolation({ ...full, cgroup: [], isolation: 'bubblewrap-rootless' }, [])).not.toThrow();
  });

  it.each([
    [{ ...full, found: false }, [], /not installed/],
    [{ ...full, isolation: 'bubblewrap-rootless' }, ['root'], /not root/],
    [{ ...full, cgroup: ['cpu'] }, ['cgroup'], /writable here: cpu/],
    [full, ['magic'], /"magic" is not known/],
  ])('refuses %j for %j', (report, required, message) => {
    expect(() => requireIsolation(report, required)).toThrow(message);
  });
});

describe('probeIsolation', () => {
  it('says how to build a missing agent', async () => {
    await expect(probeIsolation('/nowhere/agent')).rejects.toThrow(/go build/);
  });
});
