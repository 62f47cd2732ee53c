import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ModelCalled } from '@espalier/contracts';
import { decodeBody } from '@espalier/avro';
import { CancelledError, LeaseLostError, ReleasedError } from '@espalier/kafka';
import { ObjectStoreError } from '@espalier/objects';
import { SandboxCreateError, SandboxLostError } from '@espalier/sandbox-client';
import { afterEach, describe, expect, it } from 'vitest';
import { FakePlane, job } from '../testing/fake-plane.ts';
import { sandboxIdFor } from '../sandboxes/sandbox-id.ts';
import { Rollout } from './rollout.ts';

const TIMINGS = { leaseMs: 1_000, renewMs: 5, graceMs: 10, patienceMs: 1_000, detach: false };
/** What the decoder fills in. */
const DEFAULTS = { event_id: 'e', occurred_at: 0, producer: 'p' };
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A policy server that answers `ls`, or with the given status. */
async function policy(status = 200): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const choice = {
        message: { role: 'assistant', content: 'ls' },
        finish_reason: 'stop',
        token_ids: [108, 115],
        logprobs: { content: [{ logprob: -0.1 }, { logprob: -0.2 }] },
      };
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ prompt_token_ids: [1, 2, 3], choices: [choice], policy_version: 4 }));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** Never resolves; rejects as a client does when its signal aborts. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = (): void => reject(new Error('aborted'));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });

const chatRequest = async (plane: FakePlane, status = 200) => {
  const request = await plane.request();
  return { ...request, policy: { ...request.policy, endpoints: [await policy(status)] } };
};

describe('Rollout', () => {
  it('runs a harness, records its calls, snapshots and records once', async () => {
    const plane = new FakePlane();
    const request = await chatRequest(plane);
    plane.harness = async () => {
      expect((await plane.chat('k1', 'Write done')).status).toBe(200);
      return job();
    };
    await new Rollout(request, plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded.length).toBe(1);
    const [event] = plane.recorded;
    expect(event).toMatchObject({
      status: 'COMPLETED',
      stop_reason: 'SUBMITTED',
      failure: null,
      epoch: 1,
      claim_id: 'claim-1',
      policy_version_min: 4,
      policy_version_max: 4,
      isolation: 'bubblewrap',
      harness_exit_code: 0,
      counts: { model_calls: 1, sampled_tokens: 2, samples: 1 },
    });
    expect(plane.called.map(({ call_id, agent_key }) => [call_id, agent_key])).toEqual([['run/task/0/r0/a0/c0', 'k1']]);
    if (!event?.body || !event.snapshot) throw new Error('no body or no snapshot');
    const body = decodeBody('trajectory.body', await plane.objects.get(event.body));
    expect(body).toMatchObject({ instruction: 'Write done to out.txt\n', harness_log: 'the harness says' });
    expect(body.samples[0]?.mask_runs).toEqual([3, 2]);
    const sandboxId = sandboxIdFor('run/task/0/r0/a0', 1);
    expect(plane.created[0]).toMatchObject({
      sandboxId,
      payloads: ['mini'],
      cpu: '2',
      memory: '512Mi',
      leaseSeconds: 1,
    });
    expect(plane.started[0]).toMatchObject({ idempotencyKey: 'run/task/0/r0/a0/harness', timeoutMs: 30_000 });
    expect(plane.phases).toEqual(['sandbox', 'harness', 'harness@42', 'snapshot']);
    expect([plane.deleted, plane.ended]).toEqual([[sandboxId], ['COMPLETED']]);
  });

  it('records an infrastructure failure without reward material when the policy is away', async () => {
    const plane = new FakePlane();
    const request = await chatRequest(plane, 503);
    plane.harness = async (signal) => {
      await plane.chat('k1', 'Write done');
      return untilAborted(signal);
    };
    await new Rollout(request, plane.claim, plane.ports, TIMINGS).run();
    const failure = { class: 'INFRA', code: 'LLM_UNAVAILABLE' };
    expect(plane.recorded).toMatchObject([
      { status: 'FAILED', stop_reason: 'LLM_UNAVAILABLE', failure, snapshot: null },
    ]);
    expect(plane.recorded[0]?.body).not.toBeNull();
  });

  it('ends a harness that goes on after its budget', async () => {
    const plane = new FakePlane();
    const request = await chatRequest(plane);
    let calls = 0;
    plane.harness = async () => {
      calls += 1;
      await plane.chat(`k${calls}`, `turn ${calls}`);
      return job({ state: 'running', exitCode: null });
    };
    const limits = { ...request.limits, model_calls: 2 };
    await new Rollout({ ...request, limits }, plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([
      { status: 'TRUNCATED', stop_reason: 'MODEL_CALLS', failure: { class: 'BUDGET' }, counts: { model_calls: 2 } },
    ]);
    expect(plane.recorded[0]?.snapshot).not.toBeNull();
  });

  it('records a cancelled rollout with what there is', async () => {
    const plane = new FakePlane();
    const request = await chatRequest(plane);
    plane.harness = async (signal) => {
      await plane.chat('k1', 'Write done');
      plane.abort.abort(new CancelledError('run/task/0/r0/a0', 'GROUP_FULL'));
      return untilAborted(signal);
    };
    await new Rollout(request, plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([
      {
        status: 'CANCELLED',
        stop_reason: 'CANCELLED',
        failure: { class: 'CONTROL', code: 'CANCELLED_GROUP_FULL' },
        counts: { model_calls: 1 },
        snapshot: null,
      },
    ]);
    expect(plane.deleted.length).toBe(1);
  });

  it.each([new LeaseLostError('w', 'LEASE_EXPIRED'), new ReleasedError('w', 'DRAINING')])(
    'is silent when its claim is gone: %s',
    async (reason) => {
      const plane = new FakePlane();
      plane.harness = (signal) => {
        plane.abort.abort(reason);
        return untilAborted(signal);
      };
      await new Rollout(await plane.request(), plane.claim, plane.ports, TIMINGS).run();
      expect(plane.recorded).toEqual([]);
      expect(plane.deleted.length).toBe(1);
    },
  );

  it('notices a sandbox that is gone by its lease', async () => {
    const plane = new FakePlane();
    plane.harness = untilAborted;
    plane.onHeartbeat = () => Promise.reject(new SandboxLostError('gone'));
    await new Rollout(await plane.request(), plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([{ status: 'FAILED', failure: { class: 'INFRA', code: 'SANDBOX_LOST' } }]);
  });

  it('names a sandbox that did not come up, and a job that went with it', async () => {
    const plane = new FakePlane();
    plane.onWaitReady = () => Promise.reject(new SandboxCreateError('no image', false));
    await new Rollout(await plane.request(), plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([
      { status: 'FAILED', failure: { code: 'SANDBOX_CREATE', stage: 'sandbox', retryable: false }, body: null },
    ]);
    const lost = new FakePlane();
    lost.harness = () => Promise.resolve(job({ state: 'lost', exitCode: null }));
    await new Rollout(await lost.request(), lost.claim, lost.ports, TIMINGS).run();
    expect(lost.recorded).toMatchObject([{ failure: { code: 'SANDBOX_LOST', stage: 'harness' } }]);
  });

  it('refuses a package that does not unpack, without a sandbox', async () => {
    const plane = new FakePlane();
    const request = await plane.request({}, [{ path: 'task.toml', mode: 0o644, content: Buffer.from('nonsense') }]);
    await new Rollout(request, plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([
      { failure: { class: 'INFRA', code: 'TASK_PACKAGE_INVALID', retryable: false } },
    ]);
    expect([plane.created.length, plane.deleted.length]).toEqual([0, 0]);
  });

  it('waits for a full object store, within its deadline', async () => {
    const plane = new FakePlane();
    const request = await plane.request();
    plane.objects.failing.push(new ObjectStoreError('OBJECT_STORE_FULL', 'full', { retryable: true }));
    await new Rollout(request, plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([{ status: 'COMPLETED' }]);

    const late = new FakePlane();
    const urgent = await late.request({ deadline_at: Date.now() + 1_000 });
    late.objects.failing.push(new ObjectStoreError('OBJECT_STORE_FULL', 'full', { retryable: true }));
    await new Rollout(urgent, late.claim, late.ports, TIMINGS).run();
    expect(late.recorded).toMatchObject([{ status: 'FAILED', failure: { code: 'OBJECT_STORE_FULL' } }]);
  });

  it('adopts a running harness: replays what was answered, goes on with the rest, records one trajectory', async () => {
    const first = new FakePlane();
    const request = await chatRequest(first);
    first.harness = async (signal) => {
      await first.chat('k1', 'Write done');
      first.abort.abort(new ReleasedError('w', 'DRAINING'));
      return untilAborted(signal);
    };
    await new Rollout(request, first.claim, first.ports, { ...TIMINGS, detach: true }).run();
    // Left as it is: nothing recorded, the sandbox lives on.
    expect([first.recorded, first.deleted]).toEqual([[], []]);

    const second = new FakePlane();
    second.objects.contents.set(request.task.package.key, await first.objects.get(request.task.package));
    second.log = first.called.map((call) => ({ ...DEFAULTS, ...call }) as ModelCalled);
    second.harness = async () => {
      // The call that was answered, held by the agent because its runner went away before the end, then a new one.
      expect((await second.chat('k1', 'Write done')).status).toBe(200);
      await second.chat('k2', 'again');
      return job();
    };
    const sandboxId = sandboxIdFor(request.attempt_id, 1);
    const adoption = { ...request, kind: 'ADOPT' as const, sandbox_id: sandboxId, model_log_from: 41 };
    const claim = { ...second.claim, epoch: 2 };
    await new Rollout(adoption, claim, second.ports, TIMINGS).run();
    expect(second.adoptions).toEqual([41]);
    expect(second.created).toEqual([]);
    expect(second.called.map(({ call_no, epoch }) => [call_no, epoch])).toEqual([[1, 2]]);
    expect(second.recorded).toMatchObject([
      { status: 'COMPLETED', epoch: 2, sandbox_id: sandboxId, counts: { model_calls: 2, samples: 2 } },
    ]);
    expect(second.deleted).toEqual([sandboxId]);
  });

  it('runs the oracle without a model', async () => {
    const plane = new FakePlane();
    const request = await plane.request({ harness: { name: 'oracle', version: null, config_json: '{}', weight: 1 } });
    await new Rollout(request, plane.claim, plane.ports, TIMINGS).run();
    expect(plane.recorded).toMatchObject([{ status: 'COMPLETED', counts: { model_calls: 0, samples: 0 } }]);
    expect(plane.recorded[0]?.policy_version_min).toBeNull();
  });
});
