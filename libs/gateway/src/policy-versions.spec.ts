import { describe, expect, it } from 'vitest';
import { PolicyVersions } from './policy-versions.ts';

const event = (phase: 'PAUSING' | 'READY', version: number, endpoints: string[] = []) => ({
  run_id: 'run',
  phase,
  version,
  endpoints,
  occurred_at: 1_000,
});
const never = new AbortController().signal;

/** Whether calls of the run go through now. */
async function goes(policies: PolicyVersions): Promise<boolean> {
  const stop = new AbortController();
  const going = policies.ready('run', stop.signal).then(
    () => true,
    () => false,
  );
  await Promise.resolve();
  stop.abort(new Error('held'));
  return going;
}

describe('PolicyVersions', () => {
  it('knows nothing of a run without events, and holds nothing', async () => {
    const policies = new PolicyVersions();
    expect(policies.published('run')).toEqual({ version: null, endpoints: [], pausing: false });
    await policies.ready('run', never);
  });

  it('holds from PAUSING to READY, other runs excepted', async () => {
    const policies = new PolicyVersions(() => 1_500);
    policies.apply(event('READY', 1, ['http://a/v1']));
    policies.apply(event('PAUSING', 2));
    expect(await goes(policies)).toBe(false);
    await policies.ready('another', never);
    const held = policies.ready('run', never);
    policies.apply(event('READY', 2, ['http://b/v1']));
    await held;
    expect(policies.published('run')).toMatchObject({ version: 2, endpoints: ['http://b/v1'], pausing: false });
  });

  it('is not confused by late and repeated events', async () => {
    const policies = new PolicyVersions(() => 1_500);
    policies.apply(event('READY', 3, ['http://c/v1']));
    policies.apply(event('PAUSING', 2));
    policies.apply(event('READY', 2, ['http://b/v1']));
    expect(policies.published('run')).toMatchObject({ version: 3, endpoints: ['http://c/v1'], pausing: false });
    policies.apply(event('PAUSING', 4));
    // The READY of an older version does not end the pause for a newer one.
    policies.apply(event('READY', 3));
    expect(await goes(policies)).toBe(false);
  });

  it('does not hold for ever when READY never comes', async () => {
    let now = 2_000;
    const policies = new PolicyVersions(() => now);
    policies.apply(event('PAUSING', 2));
    expect(await goes(policies)).toBe(false);
    now += 20 * 60_000;
    expect(await goes(policies)).toBe(true);
  });

  it('lets a held call go with the reason of its signal', async () => {
    const policies = new PolicyVersions(() => 1_500);
    policies.apply(event('PAUSING', 2));
    const stop = new AbortController();
    const held = policies.ready('run', stop.signal);
    stop.abort(new Error('the rollout is over'));
    await expect(held).rejects.toThrow('the rollout is over');
  });
});
