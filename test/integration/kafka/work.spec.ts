import { CancelledError, LeaseLostError, ReleasedError, type Claim, type WorkConsumer } from '@espalier/kafka';
import type { RolloutAlive, RolloutRequested } from '@espalier/contracts';
import { expect, it } from 'vitest';
import { eventually, freshPrefix, open } from './open.ts';
import { fastWork, group, request, workTopics } from './requests.ts';

type Handler = (request: RolloutRequested, claim: Claim) => Promise<void>;

async function plane(): Promise<{
  prefix: string;
  kafka: ReturnType<typeof open>;
  worker: (id: string, slots: number, handler: Handler, onFailure?: (error: unknown) => void) => WorkConsumer;
}> {
  const prefix = freshPrefix();
  const kafka = open(prefix, 'test');
  await kafka.admin.ensureTopics(workTopics);
  return {
    prefix,
    kafka,
    worker: (id, slots, handler, onFailure) =>
      open(prefix, id).consumeWork({
        topic: 'rollout.requested',
        group: 'rollout-runner',
        work: 'ROLLOUT',
        workerId: id,
        slots,
        handler,
        onFailure: (_request, _claim, error) => {
          onFailure?.(error);
          return Promise.resolve();
        },
        timings: fastWork,
      }),
  };
}

const until = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason));
  });

it('runs the handler under the granted epoch and drops what is denied', async () => {
  const { kafka, worker } = await plane();
  await group(kafka, (claim) =>
    claim.attempt_id.includes('/r1/')
      ? { verdict: 'DENIED', epoch: 0, reason: 'HELD' }
      : { epoch: 7, model_log_from: 3 },
  );
  const ran: { attempt: string; epoch: number; from: number | null }[] = [];
  const runner = worker('w1', 4, (request, claim) => {
    ran.push({ attempt: request.attempt_id, epoch: claim.epoch, from: claim.modelLogFrom });
    return Promise.resolve();
  });
  await runner.start();
  for (let n = 0; n < 3; n += 1) await kafka.producer().send('rollout.requested', request(n));
  await eventually('two ran', () => ran.length === 2 && runner.held().length === 0);
  expect(ran.map(({ attempt }) => attempt).sort()).toEqual(['run/task/0/r0/a0', 'run/task/0/r2/a0']);
  expect(ran[0]).toMatchObject({ epoch: 7, from: 3 });
  expect(runner.healthy()).toBe(true);
  await eventually('committed', async () =>
    (await kafka.admin.dataLag('rollout-runner', 'rollout.requested')).every(({ lag }) => lag === 0),
  );
});

it('sends a claim again while no ruling comes, under one claim id', async () => {
  const { kafka, worker } = await plane();
  const { reports } = await group(kafka, (_claim, nth) => (nth < 2 ? undefined : { epoch: 1 }));
  let ran = 0;
  await worker('w1', 1, () => {
    ran += 1;
    return Promise.resolve();
  }).start();
  await kafka.producer().send('rollout.requested', request(0));
  await eventually('ran', () => ran === 1);
  const claims = reports.filter(({ kind }) => kind === 'CLAIMED');
  expect(claims.length).toBeGreaterThanOrEqual(3);
  expect(new Set(claims.map(({ claim_id }) => claim_id)).size).toBe(1);
});

it('holds no more than its slots, takes adoptions first, and hands on what waits too long', async () => {
  const { kafka, worker } = await plane();
  await group(kafka, () => ({ epoch: 1 }));
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const holding: Handler = (request) => {
    started.push(request.attempt_id);
    return new Promise((resolve) => ends.push(resolve));
  };
  const first = worker('w1', 1, holding);
  await first.start();
  // All into one partition of the only worker: nobody else can take them yet.
  for (let n = 0; n < 4; n += 1) await kafka.producer().send('rollout.requested', request(n), { partition: 0 });
  await kafka.producer().send('rollout.requested', request(9, 0, { kind: 'ADOPT', epoch: 2 }), { partition: 0 });
  await eventually('first started', () => started.length === 1);
  expect(first.slotsFree()).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(started).toHaveLength(1);
  ends.shift()?.();
  await eventually('second started', () => started.length === 2);
  expect(started[1]).toBe('run/task/0/r9/a0');
  // A second worker with room: what waits behind the busy one reaches it through other partitions.
  const second = worker('w2', 4, holding);
  await second.start();
  await eventually('all started', () => new Set(started).size === 5);
  expect(started).toHaveLength(5);
  // What was read again after the rebalance was claimed again, and is denied.
  await eventually('four held', () => first.held().length + second.held().length === 4);
  expect(new Set(started).size).toBe(started.length);
  for (const end of ends) end();
});

it('says alive for what it holds, and stops on cancellation and on a lost lease', async () => {
  const { kafka, worker } = await plane();
  const { reports, rule } = await group(kafka, () => ({ epoch: 1 }));
  const alive: RolloutAlive[] = [];
  const listener = kafka.broadcast({
    topics: ['rollout.alive'],
    from: 'latest',
    handler: ({ value }) => void alive.push(value),
  });
  await listener.start();
  const reasons = new Map<string, unknown>();
  const failures: unknown[] = [];
  await worker(
    'w1',
    4,
    async (request, claim) => {
      await claim.report('harness', { sandboxId: 'sb' });
      const reason = await until(claim.signal);
      reasons.set(request.attempt_id, reason);
      throw reason;
    },
    (error) => failures.push(error),
  ).start();
  await kafka.producer().send('rollout.requested', request(0));
  await kafka.producer().send('rollout.requested', request(1));
  await eventually('alive', () => alive.some(({ work }) => work.length === 2));
  expect(alive.at(-1)).toMatchObject({ worker_id: 'w1' });
  const of = (n: number) => reports.find((r) => r.kind === 'PHASE' && r.attempt_id.includes(`/r${n}/`));
  await eventually('phases', () => of(0) !== undefined && of(1) !== undefined);
  const [zero, one] = [of(0), of(1)];
  if (zero === undefined || one === undefined) throw new Error('no phase');
  expect(zero).toMatchObject({ phase: 'harness', sandbox_id: 'sb', epoch: 1 });
  await rule(zero, { verdict: 'CANCELLED', claim_id: null, worker_id: null, reason: 'GROUP_FULL' });
  await rule(one, { verdict: 'DENIED', reason: 'LEASE_EXPIRED' });
  await eventually('both stopped', () => reasons.size === 2);
  expect(reasons.get(zero.attempt_id)).toBeInstanceOf(CancelledError);
  expect(reasons.get(one.attempt_id)).toBeInstanceOf(LeaseLostError);
  // A cancelled attempt still gets its terminal event; one that is somebody else's now does not.
  await eventually('failure of the cancelled one', () => failures.length === 1);
  expect(failures[0]).toBeInstanceOf(CancelledError);
});

it('drains: finishes what it can, releases the rest', async () => {
  const { kafka, worker } = await plane();
  const { reports } = await group(kafka, () => ({ epoch: 4 }));
  let finish: () => void = () => undefined;
  const reasons: unknown[] = [];
  const runner = worker('w1', 2, async (request, claim) => {
    if (request.rollout_index === 0) return new Promise((resolve) => (finish = resolve));
    reasons.push(await until(claim.signal));
  });
  await runner.start();
  await kafka.producer().send('rollout.requested', request(0));
  await kafka.producer().send('rollout.requested', request(1));
  await eventually(
    'both held',
    () => runner.held().every(({ state }) => state === 'granted') && runner.held().length === 2,
  );
  const drained = runner.drain(1_500);
  await kafka.producer().send('rollout.requested', request(2));
  finish();
  await drained;
  expect(runner.held()).toHaveLength(0);
  expect(reasons[0]).toBeInstanceOf(ReleasedError);
  await eventually('released', () => reports.some(({ kind }) => kind === 'RELEASED'));
  const released = reports.filter(({ kind }) => kind === 'RELEASED');
  expect(new Set(released.map(({ event_id: id }) => id)).size).toBe(1);
  expect(released[0]).toMatchObject({ attempt_id: 'run/task/0/r1/a0', reason: 'DRAINING', epoch: 4 });
  expect(reports.some(({ attempt_id }) => attempt_id === 'run/task/0/r2/a0')).toBe(false);
});

it('dead-letters a request that does not decode and goes on', async () => {
  const { prefix, kafka } = await plane();
  await group(kafka, () => ({ epoch: 1 }));
  const poisoned: string[] = [];
  let ran = 0;
  await open(prefix, 'w1')
    .consumeWork({
      topic: 'rollout.requested',
      group: 'rollout-runner',
      work: 'ROLLOUT',
      workerId: 'w1',
      slots: 1,
      handler: () => {
        ran += 1;
        return Promise.resolve();
      },
      onFailure: () => Promise.resolve(),
      onUndecodable: (record) => {
        poisoned.push(record.headers['x-attempt-id'] ?? '');
        return Promise.resolve();
      },
      timings: fastWork,
    })
    .start();
  await kafka.producer().sendRaw({
    topic: `${prefix}.rollout.requested.v1`,
    key: 'a',
    value: Buffer.from('nonsense'),
    headers: { 'x-attempt-id': 'run/task/0/r5/a0' },
    partition: 0,
  });
  await kafka.producer().send('rollout.requested', request(0), { partition: 0 });
  await eventually('the good one ran', () => ran === 1);
  expect(poisoned).toEqual(['run/task/0/r5/a0']);
  const dead = [];
  for (let partition = 0; partition < kafka.partitions; partition += 1)
    for await (const record of kafka
      .reader()
      .readRange(`${prefix}.rollout.requested.v1.dead.rollout-runner`, partition, 0))
      dead.push(record);
  expect(dead).toHaveLength(1);
  expect(dead[0]?.value?.toString()).toBe('nonsense');
  expect(dead[0]?.headers).toMatchObject({ 'x-error-code': 'AVRO_FRAMING', 'x-original-offset': '0' });
});
