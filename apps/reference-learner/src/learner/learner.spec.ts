import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BatchSampleDraft } from '@espalier/contracts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../checkpoints/checkpoint.ts';
import { CheckpointStore } from '../checkpoints/checkpoint-store.ts';
import { LogitTable } from '../policy-model/logit-table.ts';
import { play } from '../simulation/simulate.ts';
import { workshop } from '../simulation/workshop.ts';
import { DEFAULT_GRADIENT } from '../training/policy-gradient.ts';
import { SessionLostError } from './errors.ts';
import { GatewayClient } from './gateway-client.ts';
import { Learner } from './learner.ts';
import { ScriptedGateway, type ScriptedBatch } from '../testing/scripted-gateway.ts';

const batchOf = (seq: number): ScriptedBatch => ({
  digest: `digest-${seq}`,
  samples: workshop.slice(0, 4).map((task, index): BatchSampleDraft => {
    const trajectory = `run/${task.name}/${seq}/r0/a0/t`;
    return {
      ...play(task, new LogitTable(), seq * 100 + index, trajectory).sample,
      batch_id: `run/batch/${seq}`,
      seq,
      sample_id: `${trajectory}/s0`,
      trajectory_id: trajectory,
      group_id: `run/${task.name}/${seq}`,
      task_id: task.name,
      reward: index % 2,
      advantage: index % 2 === 0 ? -0.5 : 1.5,
      version_runs: [],
    };
  }),
});

const batches = Array.from({ length: 4 }, (_, index) => batchOf(index + 1));

let folder: string;
let gateway: ScriptedGateway;
let baseUrl: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'learner-'));
  gateway = new ScriptedGateway(batches);
  baseUrl = await gateway.listen();
});
afterEach(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

class Killed extends Error {}

/** A learner process; `killAt` ends it at its n-th outward step, like a SIGKILL: nothing after that step happens. */
function start(killAt = Number.POSITIVE_INFINITY, state = folder): { served: Checkpoint[]; done: Promise<void> } {
  const stop = new AbortController();
  const served: Checkpoint[] = [];
  let steps = 0;
  const step = (): void => {
    stop.signal.throwIfAborted();
    if (++steps < killAt) return;
    stop.abort(new Killed());
    throw new Killed();
  };
  const client = new GatewayClient({ baseUrl, learnerId: 'spec', timeoutMs: 5_000 }, stop.signal);
  const store = new CheckpointStore(state);
  // Before and after each effect lies a point at which the process may die.
  const guarded = <T extends object>(target: T, methods: readonly (keyof T)[]): T =>
    new Proxy(target, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]): Promise<unknown> => {
          if (methods.includes(name as keyof T)) step();
          const result: unknown = await Reflect.apply(value, object, args);
          if (methods.includes(name as keyof T)) step();
          return result;
        };
      },
    });
  const learner = new Learner({
    gateway: guarded(client, ['join', 'next', 'samples', 'acknowledge', 'publish']),
    checkpoints: guarded(store, ['save']),
    policy: {
      load: (checkpoint) => {
        served.push(checkpoint);
        return Promise.resolve();
      },
    },
    gradient: DEFAULT_GRADIENT,
    control: 'none',
    log: { info: () => undefined, warn: () => undefined },
    stop: stop.signal,
    waitSeconds: 1,
    batchesPerVersion: () => 1,
    temperature: () => 1,
  });
  return { served, done: learner.serve('run') };
}

describe('learner', () => {
  it('trains every batch once, in order: durable, acknowledged, published', async () => {
    const { served, done } = start();
    await done;
    expect(gateway.acknowledged.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(gateway.published.map(({ phase, version, after }) => `${phase} ${version} ${after}`)).toEqual(
      [1, 2, 3, 4].flatMap((n) => [`PAUSING ${n} ${n}`, `READY ${n} ${n}`]),
    );
    expect(served.map(({ version }) => version)).toEqual([0, 1, 2, 3, 4]);
    expect(served.at(-1)?.table.size).toBeGreaterThan(0);
    const files = await readdir(join(folder, 'runs', 'run'));
    expect(files).toHaveLength(4);
    expect(gateway.acknowledged.map(({ checkpoint }) => `${checkpoint}.json`).sort()).toEqual(files.sort());
  });

  it('ends with the same policy wherever it is killed, and trains no batch twice into it', async () => {
    const whole = start();
    await whole.done;
    const expected = whole.served.at(-1);
    for (let killAt = 1; ; killAt++) {
      const state = mkdtempSync(join(tmpdir(), 'learner-killed-'));
      await gateway.close();
      gateway = new ScriptedGateway(batches);
      baseUrl = await gateway.listen();
      const first = start(killAt, state);
      const died = await first.done.then(
        () => false,
        (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          return true;
        },
      );
      if (died) {
        const second = start(Number.POSITIVE_INFINITY, state);
        await second.done;
        const last = second.served.at(-1);
        expect(last?.name).toBe(expected?.name);
        expect(JSON.stringify(last?.table)).toBe(JSON.stringify(expected?.table));
        expect(gateway.published.at(-1)).toEqual({ phase: 'READY', version: 4, after: 4 });
      }
      rmSync(state, { recursive: true, force: true });
      if (!died) {
        expect(killAt).toBeGreaterThan(40);
        return;
      }
    }
  });

  it('goes on through lost requests, lost answers and failures', async () => {
    const whole = start();
    await whole.done;
    await gateway.close();
    gateway = new ScriptedGateway(batches);
    baseUrl = await gateway.listen();
    const seen = new Map<string, number>();
    gateway.interfere = (method, path) => {
      const count = (seen.get(method + path) ?? 0) + 1;
      seen.set(method + path, count);
      const faults = ['lose-request', 'lose-answer', 'fail'] as const;
      return count === 1 ? (faults[seen.size % 3] ?? 'serve') : 'serve';
    };
    const { served, done } = start(undefined, join(folder, 'other'));
    await done;
    expect(JSON.stringify(served.at(-1)?.table)).toBe(JSON.stringify(whole.served.at(-1)?.table));
  });

  it('stops when another learner opens a session', async () => {
    gateway.interfere = (_, path) => {
      if (path.endsWith('/batches/3/ack')) gateway.takeOver();
      return 'serve';
    };
    await expect(start().done).rejects.toBeInstanceOf(SessionLostError);
    expect(gateway.acknowledged.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it('resumes from the checkpoint before a corrupt one', async () => {
    await start().done;
    const runs = join(folder, 'runs', 'run');
    const newest = (await readdir(runs)).sort().at(-1) ?? '';
    await writeFile(join(runs, newest), (await readFile(join(runs, newest), 'utf8')).slice(0, -20));
    const { served, done } = start();
    await done;
    expect(gateway.acknowledged.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 4]);
    expect(served.at(-1)?.seq).toBe(4);
  });

  it('takes the next free version where the run knows higher ones', async () => {
    await start().done;
    rmSync(join(folder, 'runs'), { recursive: true });
    gateway.published.length = 0;
    const { served, done } = start();
    await done;
    // The same batches give the same checkpoints: their versions are known with the same batch.
    expect(gateway.published.at(-1)).toEqual({ phase: 'READY', version: 4, after: 4 });
    expect(served.at(-1)?.version).toBe(4);
  });
});
