import { asLogged, MachineDriver, objectRef, runConfig, trajectoryCounts, type LoggedEvent } from '@espalier/testing';
import type {
  AttemptOutcome,
  BatchOffered,
  RolloutRequested,
  RunConfig,
  ScoringRequested,
  TopicName,
} from '@espalier/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupMachine } from './group/machine.ts';
import { RunMachine } from './run/machine.ts';

/** How the simulated workers behave. */
interface World {
  /** 0..1, drawn for each decision of the world. */
  readonly draw: () => number;
  readonly passRate: number;
  readonly infraRate: number;
  readonly lostRunnerRate: number;
  readonly scorerFailureRate: number;
  readonly duplicateRate: number;
}

/** Both machines, simulated runners, scorers and a learner, over one log; every hand-over may be reordered or doubled. */
class Loop {
  readonly log: LoggedEvent[] = [];
  now = 1_000_000;
  private readonly group = new MachineDriver(new GroupMachine());
  private readonly run = new MachineDriver(new RunMachine());
  private readonly queue: LoggedEvent[] = [];
  private readonly world: World;
  private epoch = 0;
  private nextSeq = 1;
  private readonly offered = new Map<number, BatchOffered>();

  constructor(world: World) {
    this.world = world;
  }

  get rejections(): string[] {
    return [...this.group.rejections, ...this.run.rejections].map((rejection) => rejection.code);
  }

  send(topic: TopicName, value: object): void {
    const event = { topic, value: asLogged(topic, value, this.now) } as LoggedEvent;
    this.log.push(event);
    this.queue.push(event);
    if (this.world.draw() < this.world.duplicateRate) this.queue.push(event);
  }

  /** Delivers events until nothing is left to do, or `limit` deliveries are spent. */
  settle(limit = 200_000): void {
    for (let step = 0; step < limit; step += 1) {
      const index = Math.floor(this.world.draw() * Math.min(this.queue.length, 8));
      const [event] = this.queue.splice(index, 1);
      this.now += 1;
      if (event) this.deliver(event);
      else if (!this.passTime()) return;
    }
    throw new Error('the loop does not come to rest');
  }

  private passTime(): boolean {
    const due = [...this.group.timers, ...this.run.timers].filter(
      ([timer]) => !/^(forget|command|deadline)\|/.test(timer),
    );
    if (due.length === 0) return false;
    this.now = Math.max(this.now, Math.min(...due.map(([, at]) => at)));
    this.publish([...this.group.fireDue(this.now), ...this.run.fireDue(this.now)]);
    return true;
  }

  private publish(outputs: readonly LoggedEvent[]): void {
    for (const output of outputs) {
      this.log.push(output);
      this.queue.push(output);
    }
  }

  private deliver(event: LoggedEvent): void {
    if (this.group.machine.inputs.includes(event.topic)) this.publish(this.group.apply(event, this.now));
    if (this.run.machine.inputs.includes(event.topic)) this.publish(this.run.apply(event, this.now));
    switch (event.topic) {
      case 'rollout.requested':
        this.claim('ROLLOUT', event.value, event.value.attempt_id);
        break;
      case 'scoring.requested':
        this.claim('SCORING', event.value, event.value.work_id);
        break;
      case 'rollout.ruled':
        if (event.value.verdict === 'GRANTED') this.work(event.value.work, event.value.work_id, event.value.epoch);
        break;
      case 'batch.offered':
        this.offered.set(event.value.seq, event.value);
        this.train();
        break;
      case 'run.reported':
        if (event.value.kind === 'LEARNER' && event.value.accepted) {
          this.epoch = event.value.learner_epoch ?? 0;
          this.nextSeq = event.value.next_seq ?? 1;
          this.train();
        }
        break;
      default:
    }
  }

  private readonly requests = new Map<string, RolloutRequested | ScoringRequested>();
  private readonly finished = new Set<string>();

  private claim(work: 'ROLLOUT' | 'SCORING', request: RolloutRequested | ScoringRequested, workId: string): void {
    this.requests.set(workId, request);
    this.send('rollout.reported', {
      run_id: request.run_id,
      group_id: request.group_id,
      attempt_id: request.attempt_id,
      work,
      work_id: workId,
      kind: 'CLAIMED',
      worker_id: `w${Math.floor(this.world.draw() * 3)}`,
      claim_id: `claim-${workId}`,
    });
  }

  private work(kind: string, workId: string, epoch: number): void {
    const request = this.requests.get(workId);
    const once = `${workId}@${epoch}`;
    if (!request || this.finished.has(once)) return;
    this.finished.add(once);
    if (this.world.draw() < this.world.lostRunnerRate) return;
    const ids = { run_id: request.run_id, group_id: request.group_id, attempt_id: request.attempt_id };
    if (kind === 'SCORING') {
      const failed = this.world.draw() < this.world.scorerFailureRate;
      const failure = { class: 'INFRA', code: 'SANDBOX_LOST', message: 'gone', stage: null, retryable: true };
      this.send('reward.reported', {
        ...ids,
        trajectory_id: `${request.attempt_id}/t`,
        work_id: workId,
        worker_id: 'w',
        epoch,
        reward: {
          scorer: 'verifier',
          scorer_version: '1',
          status: failed ? 'INFRA_ERROR' : 'OK',
          score: failed ? null : this.world.draw() < this.world.passRate ? 1 : 0,
          failure: failed ? failure : null,
        },
      });
      return;
    }
    const failed = this.world.draw() < this.world.infraRate;
    this.send('trajectory.recorded', {
      ...ids,
      rollout_id: (request as RolloutRequested).rollout_id,
      trajectory_id: `${request.attempt_id}/t`,
      worker_id: 'w',
      claim_id: `claim-${workId}`,
      epoch,
      status: failed ? 'FAILED' : 'COMPLETED',
      stop_reason: failed ? 'SANDBOX_LOST' : 'SUBMITTED',
      failure: failed ? { class: 'INFRA', code: 'SANDBOX_LOST', message: 'gone' } : null,
      body: objectRef(request.attempt_id),
      snapshot: objectRef('snapshot'),
      counts: trajectoryCounts(),
      policy_version_min: (request as RolloutRequested).policy_version,
      policy_version_max: (request as RolloutRequested).policy_version,
      timing: {},
      harness: (request as RolloutRequested).harness,
    });
  }

  private train(): void {
    for (; this.epoch > 0; this.nextSeq += 1) {
      const batch = this.offered.get(this.nextSeq);
      if (!batch || batch.learner_epoch > this.epoch) return;
      const seq = this.nextSeq;
      const common = { run_id: batch.run_id, learner_epoch: this.epoch };
      this.send('batch.trained', {
        ...common,
        command_id: `ack-${this.epoch}-${seq}`,
        seq,
        checkpoint: `c${this.epoch}-${seq}`,
      });
      this.send('policy.published', {
        ...common,
        command_id: `publish-${this.epoch}-${seq}`,
        phase: 'READY',
        version: seq + (this.epoch - 1) * 1000,
        after_batch: seq,
        endpoints: [],
      });
    }
  }

  of<T extends TopicName>(topic: T): Extract<LoggedEvent, { topic: T }>['value'][] {
    return this.log.filter((event) => event.topic === topic).map((event) => event.value) as never;
  }
}

const tasks = (loop: Loop, count: number, repeat = 1): void => {
  for (let index = 0; index < count; index += 1)
    loop.send('task.submitted', { run_id: 'demo', task_id: `task-${index}`, repeat, package: objectRef('package') });
};

/** Conservation, batch identity and single use, over a log at rest. */
function checkLaws(loop: Loop): Map<AttemptOutcome, number> {
  const requested = new Set(loop.of('rollout.requested').map((event) => event.attempt_id));
  const classes = new Map<string, AttemptOutcome>();
  for (const event of loop.of('rollout.ended')) {
    expect(classes.has(event.attempt_id), `${event.attempt_id} ended twice`).toBe(false);
    classes.set(event.attempt_id, event.outcome);
    if (event.failure?.class === 'INFRA') expect(event.reward).toBeNull();
  }
  expect([...requested].filter((id) => !classes.has(id))).toEqual([]);
  const decided = loop.of('group.decided').map((event) => event.group_id);
  expect(new Set(decided).size).toBe(decided.length);
  const batches = new Map<number, string>();
  const used = new Set<string>();
  for (const batch of loop.of('batch.offered')) {
    const known = batches.get(batch.seq);
    const text = JSON.stringify([batch.entries, batch.digest]);
    if (known !== undefined) expect(text).toBe(known);
    else
      for (const entry of batch.entries) {
        expect(used.has(entry.trajectory_id), `${entry.trajectory_id} in two batches`).toBe(false);
        used.add(entry.trajectory_id);
        expect(classes.get(entry.trajectory_id.slice(0, -2))).toBe('POOLED');
      }
    batches.set(batch.seq, text);
  }
  expect([...batches.keys()]).toEqual([...batches.keys()].map((_, index) => index + 1));
  const counts = new Map<AttemptOutcome, number>();
  for (const outcome of classes.values()) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return counts;
}

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const calm = (seed: number): World => ({
  draw: seeded(seed),
  passRate: 0.5,
  infraRate: 0,
  lostRunnerRate: 0,
  scorerFailureRate: 0,
  duplicateRate: 0,
});

function start(world: World, config: Partial<RunConfig> = {}, taskCount = 5): Loop {
  const loop = new Loop(world);
  loop.send('run.submitted', { run_id: 'demo', config: runConfig(config), submitted_by: 'test' });
  tasks(loop, taskCount);
  loop.settle();
  loop.send('learner.joined', { run_id: 'demo', command_id: 'join-1', learner_id: 'l', checkpoint: null });
  return loop;
}

describe('a run from tasks to trained batches', () => {
  it('reaches its target, trains every batch and explains every attempt', () => {
    const loop = start(calm(1));
    loop.settle();
    const ended = loop.of('run.reported').filter((event) => event.kind === 'ENDED');
    expect(ended.map((event) => event.state)).toEqual(['COMPLETED']);
    expect(loop.of('batch.offered').length).toBeGreaterThan(10);
    const counts = checkLaws(loop);
    expect(counts.get('POOLED')).toBeGreaterThan(80);
    expect(loop.rejections).toEqual([]);
  });

  it('keeps its laws under failures, lost runners, duplicates and reordering', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 0.3, noNaN: true }),
        fc.constantFrom('PER_COMPLETION' as const, 'STRIDE' as const),
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        (seed, passRate, trouble, mode, maxStaleness, batchesPerVersion) => {
          const world = {
            draw: seeded(seed),
            passRate,
            infraRate: trouble,
            lostRunnerRate: trouble / 2,
            scorerFailureRate: trouble,
            duplicateRate: trouble,
          };
          const loop = start(world, {
            group: { ...runConfig().group, mode, stride: 3 },
            batch: {
              size: 8,
              batches_per_version: batchesPerVersion,
              max_staleness: maxStaleness,
              partial_remainder: seed % 2 === 0,
            },
            breaker: { window: 50, min_attempts: 20, max_infra_share: 1 },
            target: { batches: null, rollouts: 60, pass_rate: null, pass_rate_window: 50 },
          });
          loop.settle();
          expect(loop.of('run.reported').filter((event) => event.kind === 'ENDED')).toHaveLength(1);
          checkLaws(loop);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('offers nothing beyond the staleness bound without a learner, and goes on when one joins', () => {
    const loop = new Loop(calm(3));
    loop.send('run.submitted', { run_id: 'demo', config: runConfig(), submitted_by: 'test' });
    tasks(loop, 5);
    loop.settle();
    expect(new Set(loop.of('batch.offered').map((batch) => batch.seq)).size).toBeLessThanOrEqual(2);
    expect(loop.of('run.reported').at(-1)?.waiting_for).toBe('learner');
    loop.send('learner.joined', { run_id: 'demo', command_id: 'join', learner_id: 'l', checkpoint: null });
    loop.settle();
    expect(loop.of('run.reported').some((event) => event.kind === 'ENDED')).toBe(true);
    checkLaws(loop);
  });

  it('rewinds a learner to its checkpoint and fences the old session', () => {
    const loop = start(calm(4));
    loop.settle();
    loop.send('learner.joined', { run_id: 'demo', command_id: 'join-2', learner_id: 'l2', checkpoint: 'c1-3' });
    loop.settle();
    const joined = loop.of('run.reported').find((event) => event.command_id === 'join-2');
    expect(joined).toMatchObject({ accepted: true, next_seq: 4, learner_epoch: 2 });
    loop.send('batch.trained', { run_id: 'demo', command_id: 'late', learner_epoch: 1, seq: 5, checkpoint: 'x' });
    loop.send('learner.joined', { run_id: 'demo', command_id: 'join-3', learner_id: 'l3', checkpoint: 'nowhere' });
    loop.settle();
    const verdict = (id: string) => loop.of('run.reported').find((event) => event.command_id === id)?.code;
    expect(verdict('late')).toBe('STALE_LEARNER');
    expect(verdict('join-3')).toBe('CHECKPOINT_UNKNOWN');
    checkLaws(loop);
  });

  it('pauses when the infrastructure fails too often, and says so', () => {
    const loop = start({ ...calm(5), infraRate: 0.9 }, { group: { ...runConfig().group, max_replacements: 50 } });
    loop.settle();
    expect(loop.of('run.reported').some((event) => event.kind === 'BREAKER' && event.state === 'PAUSED')).toBe(true);
    expect(loop.of('trajectory.scored').every((event) => event.reward !== -1)).toBe(true);
  });

  it('ends when its tasks are rolled out, with a partial batch', () => {
    const loop = start(calm(6), {
      repeat_tasks: false,
      close_when_done: true,
      target: { batches: null, rollouts: null, pass_rate: null, pass_rate_window: 50 },
    });
    loop.settle();
    expect(loop.of('run.reported').filter((event) => event.kind === 'ENDED')).toHaveLength(1);
    expect(loop.of('group.opened')).toHaveLength(5);
    checkLaws(loop);
  });

  it('delivers an evaluation without batches', () => {
    const loop = start(calm(7), { purpose: 'EVAL', repeat_tasks: false, close_when_done: true });
    loop.settle();
    expect(checkLaws(loop)).toEqual(new Map([['DELIVERED', 20]]));
    expect(loop.of('batch.offered')).toEqual([]);
  });
});

const CLAIM = {
  run_id: 'r',
  group_id: 'r/t/0',
  attempt_id: 'r/t/0/r0/a0',
  work: 'ROLLOUT',
  work_id: 'r/t/0/r0/a0',
  kind: 'CLAIMED',
  worker_id: 'w',
  claim_id: 'c',
};

/** A group processor with one open group, `r/t/0`. */
function opened(): MachineDriver {
  const driver = new MachineDriver(new GroupMachine());
  const event = {
    run_id: 'r',
    group_id: 'r/t/0',
    admission: 0,
    task: { task_id: 't', package: objectRef() },
    spec: runConfig(),
    policy_version: 0,
  };
  driver.apply({ topic: 'group.opened', value: asLogged('group.opened', event, 1) }, 1);
  return driver;
}

describe('commands and bad input', () => {
  it('parks tasks of a run that comes later, and gives up those of one that never comes', () => {
    const loop = new Loop(calm(8));
    tasks(loop, 2);
    loop.send('run.submitted', {
      run_id: 'demo',
      config: runConfig({ repeat_tasks: false, close_when_done: true }),
      submitted_by: 'test',
    });
    loop.settle();
    loop.send('task.submitted', { run_id: 'never', task_id: 't', package: objectRef() });
    loop.send('learner.joined', { run_id: 'demo', command_id: 'join', learner_id: 'l', checkpoint: null });
    loop.settle();
    expect(loop.of('group.opened')).toHaveLength(2);
    expect(loop.rejections).toEqual(['RUN_UNKNOWN']);
  });

  it('refuses an illegal run and a different one under the same id', () => {
    const loop = new Loop(calm(9));
    loop.send('run.submitted', {
      run_id: 'demo',
      config: runConfig({ batch: { ...runConfig().batch, size: 7 } }),
      submitted_by: 't',
    });
    loop.settle();
    expect(loop.of('run.reported')[0]).toMatchObject({ state: 'REFUSED', code: 'RUN_INVALID' });
    expect(loop.of('run.reported')[0]?.message).toContain('batch.size 7');
    loop.send('run.submitted', { run_id: 'demo', config: runConfig(), submitted_by: 't' });
    loop.send('run.submitted', { run_id: 'demo', config: runConfig({ seed: 8 }), submitted_by: 't' });
    loop.settle();
    expect(loop.rejections).toEqual(['RUN_INVALID', 'RUN_DIFFERS']);
  });

  it('keeps every state entry of a legal run below 64 KiB, whatever its scorers say', () => {
    const driver = new MachineDriver(new GroupMachine());
    const scorers = Array.from({ length: 6 }, (_, index) => ({
      ...(runConfig().scorers[0] as object),
      name: `s${index}`,
    }));
    const spec = { ...runConfig(), scorers };
    const ids = { run_id: 'r', group_id: 'r/t/0', attempt_id: 'r/t/0/r0/a0' };
    const apply = (topic: TopicName, value: object): LoggedEvent[] =>
      driver.apply({ topic, value: asLogged(topic, { ...ids, ...value }, 1) } as LoggedEvent, 1);
    apply('group.opened', { admission: 0, task: { task_id: 't', package: objectRef() }, spec, policy_version: 0 });
    apply('rollout.reported', CLAIM);
    const requests = apply('trajectory.recorded', {
      rollout_id: 'r/t/0/r0',
      trajectory_id: 'r/t/0/r0/a0/t',
      worker_id: 'w',
      claim_id: 'c',
      epoch: 1,
      status: 'COMPLETED',
      stop_reason: 'SUBMITTED',
      body: objectRef(),
      snapshot: objectRef(),
      counts: trajectoryCounts(),
      timing: {},
      harness: spec.harnesses[0],
    });
    const details = JSON.stringify({ log: 'x'.repeat(16_000) });
    const scored = requests.flatMap((request) =>
      request.topic === 'scoring.requested'
        ? apply('reward.reported', {
            trajectory_id: request.value.trajectory_id,
            work_id: request.value.work_id,
            worker_id: 'w',
            reward: {
              scorer: request.value.scorer,
              scorer_version: '1',
              status: 'OK',
              score: 1,
              details_json: details,
            },
          })
        : [],
    );
    expect(scored.map((event) => event.topic)).toEqual(['trajectory.scored']);
    for (const entry of driver.state.values()) expect(JSON.stringify(entry).length).toBeLessThan(64 * 1024);
  });

  it('cancels: every open attempt is cancelled and nothing is offered', () => {
    const loop = start(calm(10));
    loop.send('run.commanded', { run_id: 'nobody', command_id: 'x', command: 'PAUSE', reason: '' });
    loop.send('run.commanded', { run_id: 'demo', command_id: 'c', command: 'CANCEL', reason: 'enough' });
    loop.send('run.commanded', { run_id: 'demo', command_id: 'c', command: 'CANCEL', reason: 'enough' });
    loop.settle();
    expect(
      loop
        .of('run.reported')
        .filter((event) => event.kind === 'ENDED')
        .map((event) => event.state),
    ).toEqual(['CANCELLED']);
    checkLaws(loop);
  });

  it('answers claims of unknown work and second claims with a denial', () => {
    const driver = opened();
    const say = (more: object): LoggedEvent[] =>
      driver.apply({ topic: 'rollout.reported', value: asLogged('rollout.reported', { ...CLAIM, ...more }, 1) }, 1);
    const nobody = { group_id: 'r/t/1', attempt_id: 'r/t/1/r0/a0', work_id: 'r/t/1/r0/a0' };
    expect(say(nobody)[0]?.value).toMatchObject({ verdict: 'DENIED', reason: 'UNKNOWN_WORK', claim_id: 'c' });
    expect(say({})[0]?.value).toMatchObject({ verdict: 'GRANTED', epoch: 1, claim_id: 'c' });
    expect(say({})[0]?.value).toMatchObject({ verdict: 'GRANTED', epoch: 1, claim_id: 'c' });
    expect(say({ claim_id: 'other' })[0]?.value).toMatchObject({ verdict: 'DENIED', reason: 'HELD' });
    expect(say({ kind: 'RELEASED', epoch: 1 })[0]).toMatchObject({ topic: 'rollout.requested' });
    say({ claim_id: 'gone' });
    expect(say({ claim_id: 'gone', kind: 'RELEASED', epoch: 0 })[0]).toMatchObject({ topic: 'rollout.requested' });
    expect(say({ claim_id: 'other' })[0]?.value).toMatchObject({ verdict: 'GRANTED', epoch: 3 });
    expect(say({ kind: 'PHASE', epoch: 1 })[0]?.value).toMatchObject({ verdict: 'DENIED', reason: 'NOT_HELD' });
  });

  it('asks for an adoption when a runner is lost while the harness runs, and starts anew before that', () => {
    const driver = opened();
    const say = (more: object): LoggedEvent[] =>
      driver.apply({ topic: 'rollout.reported', value: asLogged('rollout.reported', { ...CLAIM, ...more }, 1) }, 1);
    say({});
    let [denied, again] = driver.fireDue(20_000);
    expect(denied?.value).toMatchObject({ verdict: 'DENIED', reason: 'LEASE_EXPIRED', epoch: 1, claim_id: 'c' });
    expect(again?.value).toMatchObject({ attempt_id: CLAIM.attempt_id, kind: 'START', epoch: 2 });
    say({ claim_id: 'd' });
    say({ claim_id: 'd', kind: 'PHASE', phase: 'harness', epoch: 2, sandbox_id: 'box', model_log_from: 17 });
    [denied, again] = driver.fireDue(60_000);
    expect(again?.value).toMatchObject({ kind: 'ADOPT', epoch: 3, sandbox_id: 'box', model_log_from: 17 });
    expect(say({ claim_id: 'e' })[0]?.value).toMatchObject({ verdict: 'GRANTED', epoch: 3, model_log_from: 17 });
  });
});
