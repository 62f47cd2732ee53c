import { CancelledError, LeaseLostError, type RawRecord } from '@espalier/kafka';
import { SandboxCreateError } from '@espalier/sandbox-client';
import { describe, expect, it } from 'vitest';
import { FakeScoring } from '../testing/fake-scoring.ts';
import { DEFAULT_TIMINGS } from './scoring-ports.ts';
import { Scoring } from './scoring.ts';
import { undecodableReward } from './scoring-worker.ts';

const score = async (fake: FakeScoring, change: Parameters<FakeScoring['request']>[0] = {}): Promise<void> =>
  new Scoring(await fake.request(change), fake.claim, fake.ports, DEFAULT_TIMINGS).run();

describe('Scoring', () => {
  it('scores the workspace in a fresh sandbox and keeps what the tests said', async () => {
    const fake = new FakeScoring();
    fake.reward = '0.5';
    await score(fake);
    expect(fake.reported).toMatchObject([
      {
        epoch: 2,
        claim_id: 'claim',
        work_id: 'run/task/0/r0/a0/t/verifier@1#0',
        reward: { scorer: 'verifier', scorer_version: '1', status: 'OK', score: 0.5, required: true, failure: null },
      },
    ]);
    // The workspace first, then the tests, which it cannot have touched.
    expect(fake.archives).toEqual(['/', '/tests']);
    expect(fake.commands.find(({ command }) => command.startsWith('/tests/test.sh'))?.timeoutMs).toBe(30_000);
    const evidence = fake.reported[0]?.evidence;
    expect(fake.contents.get(evidence?.key ?? '')?.toString()).toBe('the tests say');
    expect(fake.deleted.length).toBe(1);
  });

  it('gives no score to a trajectory without a snapshot', async () => {
    const fake = new FakeScoring();
    await score(fake, { snapshot: null });
    expect(fake.reported[0]?.reward).toMatchObject({
      status: 'SKIPPED',
      score: null,
      failure: { code: 'NO_SNAPSHOT' },
    });
    expect(fake.commands).toEqual([]);
  });

  it.each<[string, (fake: FakeScoring) => void, string, string, string, boolean]>([
    ['no reward file', (fake) => (fake.reward = null), 'INFRA_ERROR', 'NO_REWARD_FILE', 'INFRA', true],
    ['a reward that is no number', (fake) => (fake.reward = 'pass'), 'INVALID', 'REWARD_UNPARSABLE', 'SUSPECT', true],
    [
      'tests that hang',
      (fake) => (fake.tests = () => Promise.resolve({ state: 'timed_out', exitCode: null })),
      'TIMEOUT',
      'VERIFIER_TIMEOUT',
      'INFRA',
      false,
    ],
    [
      'a sandbox that does not come up',
      (fake) => (fake.onCreate = () => Promise.reject(new SandboxCreateError('no room', true))),
      'INFRA_ERROR',
      'SANDBOX_CREATE',
      'INFRA',
      true,
    ],
    [
      'a sandbox lost under the tests',
      (fake) => (fake.tests = () => Promise.resolve({ state: 'cancelled', exitCode: null })),
      'INFRA_ERROR',
      'VERIFIER_SANDBOX',
      'INFRA',
      true,
    ],
  ])('gives no score, never 0, for %s', async (_name, arrange, status, code, failureClass, retryable) => {
    const fake = new FakeScoring();
    arrange(fake);
    await score(fake);
    expect(fake.reported.map(({ reward }) => reward)).toMatchObject([
      { status, score: null, failure: { class: failureClass, code, retryable } },
    ]);
    expect(fake.deleted.length).toBe(1);
  });

  it('gives no score when the snapshot is gone', async () => {
    const fake = new FakeScoring();
    const { snapshot } = await fake.request();
    fake.contents.delete(snapshot?.key ?? '');
    const request = {
      ...(await fake.request()),
      snapshot: snapshot && { ...snapshot, key: 'runs/run/snapshots/none' },
    };
    await new Scoring(request, fake.claim, fake.ports).run();
    expect(fake.reported[0]?.reward).toMatchObject({
      status: 'INFRA_ERROR',
      score: null,
      failure: { code: 'OBJECT_MISSING' },
    });
  });

  it('gates a submission that changes protected files, without running the tests', async () => {
    const fake = new FakeScoring();
    await score(fake, { config_json: '{"protected":["app/*.txt"]}' });
    expect(fake.reported[0]?.reward).toMatchObject({
      status: 'GATED',
      score: 0,
      failure: { class: 'SUSPECT', code: 'INTEGRITY_VIOLATION' },
    });
    expect(JSON.parse(fake.reported[0]?.reward.details_json ?? '')).toEqual({
      protected_files_changed: ['app/out.txt'],
    });
    expect(fake.archives).toEqual([]);
    const honest = new FakeScoring();
    await score(honest, { config_json: '{"protected":["**/conftest.py"]}' });
    expect(honest.reported[0]?.reward.status).toBe('OK');
  });

  it.each(['nonsense', '{"rewardkey":"x"}', '{"protected":"all"}'])('refuses the options %s', async (config_json) => {
    const fake = new FakeScoring();
    await score(fake, { config_json });
    expect(fake.reported[0]?.reward).toMatchObject({
      status: 'INFRA_ERROR',
      score: null,
      failure: { code: 'SCORER_CONFIG', retryable: false },
    });
  });

  it('says that the deadline, not the verifier, was too short', async () => {
    const fake = new FakeScoring();
    fake.tests = () => Promise.resolve({ state: 'timed_out', exitCode: null });
    await score(fake, { deadline_at: Date.now() + 8_000 });
    expect(fake.reported[0]?.reward).toMatchObject({
      status: 'TIMEOUT',
      score: null,
      failure: { code: 'SCORER_TIMEOUT' },
    });
  });

  it.each([new CancelledError('w', 'DECIDED'), new LeaseLostError('w', 'LEASE_EXPIRED')])(
    'is silent when nobody wants the verdict: %s',
    async (reason) => {
      const fake = new FakeScoring();
      fake.tests = () => {
        fake.abort.abort(reason);
        return Promise.resolve({});
      };
      await score(fake);
      expect(fake.reported).toEqual([]);
      expect(fake.deleted.length).toBe(1);
    },
  );
});

describe('undecodableReward', () => {
  const record = (workId: string): RawRecord => ({
    topic: 't',
    partition: 0,
    offset: 3,
    key: null,
    value: Buffer.from('poison'),
    headers: { 'x-work-id': workId },
    timestamp: 0,
  });

  it('ends its own scorer’s request without a score', () => {
    expect(undecodableReward(record('run/task/0/r0/a1/t/verifier@1#2'), new Error('bad'), 'w')).toMatchObject({
      group_id: 'run/task/0',
      attempt_id: 'run/task/0/r0/a1',
      trajectory_id: 'run/task/0/r0/a1/t',
      epoch: 0,
      reward: { scorer: 'verifier', scorer_version: '1', status: 'INFRA_ERROR', score: null },
    });
  });

  it('leaves the requests of other scorers, and damaged ids, alone', () => {
    for (const workId of ['run/task/0/r0/a1/t/rubric@1#0', 'verifier', ''])
      expect(undecodableReward(record(workId), new Error('bad'), 'w')).toBeNull();
  });
});
