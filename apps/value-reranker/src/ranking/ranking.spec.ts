import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { encodeBody } from '@espalier/avro';
import type { GroupDecided, RankingDecided, TrajectoryBodyDraft, TrajectoryScored } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { openObjectStore, type ObjectStore } from '@espalier/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { featureNames, featuresOf } from '../features/features.ts';
import { hash32 } from '../features/hashing.ts';
import { ExampleStore } from '../fitting/example-store.ts';
import { Fitter } from '../fitting/fitter.ts';
import { ModelStore } from '../models/model-store.ts';
import { decodeModel, encodeModel } from '../models/value-model.ts';
import { ReportBook } from '../quality/report.ts';
import { RankingController } from './ranking.controller.ts';

let folder: string;
let objects: ObjectStore;
let sent: { topic: string; body: RankingDecided }[];
let examples: ExampleStore;
let models: ModelStore;
let controller: RankingController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'value-reranker-'));
  objects = openObjectStore(pathToFileURL(folder).href);
  sent = [];
  examples = new ExampleStore(objects);
  models = new ModelStore(objects);
  const kafka = {
    producer: () => ({
      send: (topic: string, body: RankingDecided) => {
        sent.push({ topic, body });
        return Promise.resolve({ partition: 0, offset: 0, eventId: '' });
      },
    }),
  } as unknown as KafkaPort;
  controller = new RankingController(kafka, objects, examples, models);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const counts = { model_calls: 3, turns: 3, prompt_tokens: 900, sampled_tokens: 150, samples: 1, tool_calls: 2 };

const bodyOf = (trajectory: string, action: string): TrajectoryBodyDraft => ({
  trajectory_id: trajectory,
  attempt_id: trajectory.replace(/\/t$/, ''),
  task_id: 'task',
  harness: 'mini',
  model: 'm',
  instruction: 'Repair it.',
  nodes: [
    { node_no: 0, parent: -1, role: 'user', message_json: '{"content":"Repair it."}', sampled: false, timestamp: 0 },
    {
      node_no: 1,
      parent: 0,
      role: 'assistant',
      message_json: JSON.stringify({ tool_calls: [{ id: trajectory, function: { name: 'bash', arguments: action } }] }),
      sampled: true,
      timestamp: 0,
    },
  ],
  calls: [],
  samples: [],
});

/** Rollouts of a task: action 0 repairs it, others do not. */
async function group(
  task: string,
  admission: number,
  size = 4,
): Promise<{ scored: TrajectoryScored[]; decided: GroupDecided }> {
  const groupId = `run/${task}/${admission}`;
  const scored = await Promise.all(
    Array.from({ length: size }, async (_, index) => {
      const trajectory = `${groupId}/r${index}/a0/t`;
      const action = hash32(trajectory) % 4;
      const body = await objects.put(encodeBody('trajectory.body', bodyOf(trajectory, `edit ${action} of ${task}`)), {
        prefix: 'runs/run/trajectories',
        mediaType: 'application/avro',
      });
      const passed = action === 0;
      return {
        run_id: 'run',
        group_id: groupId,
        trajectory_id: trajectory,
        task_id: task,
        revision: 0,
        occurred_at: admission * 10 + index,
        status: 'COMPLETED',
        reward: passed ? 1 : 0,
        passed,
        counts,
        body,
      } as unknown as TrajectoryScored;
    }),
  );
  const decided = {
    run_id: 'run',
    group_id: groupId,
    task_id: task,
    members: scored.map((one) => ({
      trajectory_id: one.trajectory_id,
      status: 'COMPLETED',
      reward: one.reward,
      body: one.body,
      counts,
    })),
  } as unknown as GroupDecided;
  return { scored, decided };
}

describe('value re-ranker', () => {
  it('ranks at random before a model, and far above random after one, on groups it has not seen', async () => {
    const fitter = new Fitter(examples, models, { refitEvery: 64, mostExamples: 1_000 });
    const report = new ReportBook();
    for (let admission = 0; admission < 24; admission++)
      for (const task of ['alpha', 'beta', 'gamma']) {
        const { scored, decided } = await group(task, admission);
        // The verdicts of the group are examples before it is ranked: the fold keeps them from its model.
        for (const event of scored) await controller.scored(event);
        await fitter.step(() => true);
        await controller.decided(decided);
        report.add(sent.at(-1)?.body as RankingDecided);
      }
    const { mixed, all, auc_within_groups: auc, groups_without_model: blind, ece } = report.report();
    expect(blind).toBeGreaterThan(5);
    expect(all.groups + blind).toBe(72);
    expect(mixed.groups).toBeGreaterThan(20);
    expect(mixed.best_at_1 ?? 0).toBeGreaterThan((mixed.random ?? 1) + 0.3);
    expect(mixed.best_at_1 ?? 0).toBeLessThanOrEqual(mixed.oracle ?? 0);
    expect(auc ?? 0).toBeGreaterThan(0.85);
    expect(ece ?? 1).toBeLessThan(0.25);
  });

  it('says the same again when an event is delivered again', async () => {
    const { decided } = await group('alpha', 1);
    await controller.decided(decided);
    await controller.decided(decided);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[0]).toMatchObject({
      topic: 'ranking.decided',
      body: { group_id: 'run/alpha/1', model_version: 0, idempotency_key: 'run/alpha/1/ranking' },
    });
    expect(sent[0]?.body.ranked.map(({ rank }) => rank)).toEqual([1, 2, 3, 4]);
  });

  it('ranks trajectories without a body by their sizes, and no group that recorded nothing', async () => {
    const { decided } = await group('alpha', 2);
    for await (const { key } of objects.list('runs')) await objects.remove(key);
    await controller.decided(decided);
    expect(sent).toHaveLength(1);
    await controller.decided({ ...decided, members: decided.members.map((one) => ({ ...one, body: null })) });
    expect(sent).toHaveLength(1);
  });

  it('learns nothing from trajectories without a verdict, and the newest revision of the others', async () => {
    const { scored } = await group('alpha', 3, 1);
    const [event] = scored;
    if (!event) throw new Error('no event');
    await controller.scored({ ...event, passed: null });
    expect(await examples.newest(10)).toEqual([]);
    await controller.scored({ ...event, passed: true });
    await controller.scored({ ...event, passed: false, revision: 1 });
    expect(await examples.newest(10)).toMatchObject([{ passed: false, revision: 1 }]);
    expect(await new ExampleStore(objects).newest(10)).toHaveLength(1);
  });

  it('keeps the newest examples alone', async () => {
    for (let admission = 0; admission < 3; admission++)
      for (const event of (await group('alpha', admission, 2)).scored) await controller.scored(event);
    const kept = await examples.newest(3);
    expect(kept.map(({ scoredAt }) => scoredAt).sort((a, b) => a - b)).toEqual([11, 20, 21]);
    expect(await new ExampleStore(objects).newest(10)).toHaveLength(3);
  });

  it('answers a request to rank, and says what is wrong with a bad one', async () => {
    const { decided } = await group('alpha', 4);
    const answer = await controller.rank({
      group_id: decided.group_id,
      task_id: 'alpha',
      candidates: decided.members.map(({ trajectory_id, body }) => ({ trajectory_id, body })),
    });
    expect(answer).toMatchObject({ model_version: 0, ranked: { length: 4 }, best_passed: null });
    await expect(controller.rank({ group_id: 'g', candidates: [] })).rejects.toThrowError(/task_id|Http/);
    expect(sent).toEqual([]);
  });
});

describe('models', () => {
  it('are fitted once, published with a version of their own, and found by every replica', async () => {
    const fitter = new Fitter(examples, models, { refitEvery: 24, mostExamples: 1_000 });
    const feed = async (from: number, to: number): Promise<void> => {
      for (let admission = from; admission < to; admission++)
        for (const event of (await group('alpha', admission)).scored) await controller.scored(event);
    };
    await feed(0, 12);
    const first = await fitter.step(() => true);
    expect(first?.model.version).toBe(1);
    expect(await fitter.step(() => true)).toBeNull();
    const other = new ModelStore(objects);
    expect(await other.refresh()).toEqual(first);
    // A new holder of the lease fits nothing anew until there is something new.
    const successor = new Fitter(new ExampleStore(objects), other, { refitEvery: 24, mostExamples: 1_000 });
    expect(await successor.step(() => true)).toBeNull();
    await feed(12, 20);
    expect(await successor.step(() => false)).toBeNull();
    expect((await successor.step(() => true))?.model.version).toBe(2);
    expect((await models.refresh())?.model.version).toBe(2);
  });

  it('of another form are refused', () => {
    expect(() => decodeModel(Buffer.from('{}'))).toThrowError(
      expect.objectContaining({ code: 'VALUE_MODEL_UNUSABLE' }),
    );
    const fold = { mean: [], scale: [], weights: [] };
    const model = { version: 1, examples: 0, folds: [fold, fold, fold, fold] };
    expect(decodeModel(encodeModel(model))).toEqual(model);
  });
});

describe('features', () => {
  it('have one value a name, all finite, and no identifier in them', () => {
    const candidate = { groupId: 'g', taskId: 'task', status: 'COMPLETED' as const, counts };
    const of = (trajectoryId: string): number[] => featuresOf({ ...candidate, trajectoryId, body: null });
    expect(of('a')).toHaveLength(featureNames.length);
    expect(of('a').every(Number.isFinite)).toBe(true);
    expect(of('b')).toEqual(of('a'));
  });
});
