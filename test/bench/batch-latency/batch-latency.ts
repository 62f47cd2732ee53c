import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { startPlane, type Plane } from '@espalier/local-plane';
import { openObjectStore, type ObjectStore } from '@espalier/objects';
import { KAFKA_HOP, kafkaHop } from '../floors/kafka-hop.ts';
import { now, pause, waitFor } from '../measure/clock.ts';
import { cpuSpent } from '../measure/cpu.ts';
import { distributionOf } from '../measure/distribution.ts';
import { watchBusyCores } from '../measure/machine.ts';
import { planeCpu } from '../measure/processes.ts';
import type { BenchOptions, BenchResult, Figure } from '../report/figures.ts';
import { BatchWatch } from './batch-watch.ts';
import { TOKENS } from './bodies.ts';
import { BARE_DELIVERY, bareDelivery, bareReading, deliver } from './delivery.ts';
import { Learner } from './learner.ts';
import { BATCH, GROUP, submitRun } from './synthetic-run.ts';
import { SyntheticWorkers, type BodyMode } from './synthetic-workers.ts';

const WARM_UP_MS = 5_000;
const RATES = [
  { perSecond: 40, forMs: 30_000 },
  { perSecond: 200, forMs: 20_000 },
];
const FLAT_OUT_MS = 12_000;

/** Topics whose lag says whether the processors keep up. */
const GROUP_INPUTS = ['group.opened', 'rollout.reported', 'trajectory.recorded', 'reward.reported'] as const;
const RUN_INPUTS = ['rollout.ended', 'group.decided', 'batch.trained'] as const;

/** Everything one measurement uses. */
interface Setting {
  readonly plane: Plane;
  readonly kafka: KafkaPort;
  readonly objects: ObjectStore;
  readonly gateway: string;
  readonly workers: SyntheticWorkers;
  readonly watch: BatchWatch;
  readonly say: (line: string) => void;
}

/** The way from the last reward of a batch to the batch, its rate, and the delivery of samples. */
export async function batchLatency({ say, serviceEnv }: BenchOptions): Promise<BenchResult> {
  const begun = now();
  const busy = watchBusyCores();
  const dir = mkdtempSync(join(tmpdir(), 'espalier-bench-'));
  say('starting broker and trainer-gateway');
  try {
    const plane = await startPlane({
      dir,
      isolated: true,
      services: ['trainer-gateway'],
      logLevel: 'warn',
      env: serviceEnv,
    });
    try {
      const figures = await measure(plane, say);
      return {
        bench: 'batch-latency',
        figures,
        notes: [
          `groups of ${GROUP}, batches of ${BATCH}, ${TOKENS} tokens with log-probs and mask a trajectory, one run, one trainer-gateway`,
          'runner, scorer, learner and the measuring consumer are one Node process on the same machine (bodies are made in a thread of it); no sandboxes',
        ],
        busyCores: busy(),
        seconds: (now() - begun) / 1000,
      };
    } finally {
      await plane.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(plane: Plane, say: (line: string) => void): Promise<Figure[]> {
  const kafka = openKafka({ brokers: plane.brokers, clientId: 'bench', prefix: plane.prefix, profile: 'embedded' });
  const objectsUrl = plane.clientEnvironment['ESPALIER_OBJECTS'] ?? '';
  const objects = openObjectStore(objectsUrl);
  const workers = new SyntheticWorkers(kafka, objectsUrl);
  const watch = new BatchWatch(kafka);
  try {
    const hop = distributionOf((await kafkaHop(kafka, 300)).whole);
    await Promise.all([workers.start(), watch.start()]);
    const setting: Setting = {
      plane,
      kafka,
      objects,
      gateway: plane.url('trainer-gateway') ?? '',
      workers,
      watch,
      say,
    };
    const figures: Figure[] = [
      { name: 'one Kafka hop p50', value: hop.p50, unit: 'ms', count: hop.count },
      { name: 'one Kafka hop p99', value: hop.p99, unit: 'ms', count: hop.count },
    ];
    for (const { perSecond, forMs } of RATES) figures.push(...(await paced(setting, perSecond, forMs, hop)));
    for (const mode of ['stored', 'ready-made'] as const) figures.push(...(await flatOut(setting, mode)));
    figures.push(...(await delivery(setting)));
    return figures;
  } finally {
    await workers.stop();
    await watch.stop();
    await kafka.close();
  }
}

/** Runs `during` with a run of its own under way and a learner that acknowledges at once. */
async function withRun<R>(
  { kafka, objects, gateway, workers }: Setting,
  runId: string,
  rate: number,
  mode: BodyMode,
  during: (learner: Learner) => Promise<R>,
): Promise<R> {
  workers.pacer.perSecond = rate;
  workers.mode = mode;
  await submitRun(kafka, objects, runId);
  const learner = new Learner(gateway, runId);
  // The gateway hears of the run a moment after its event is stored.
  for (let tried = 0; ; tried += 1)
    try {
      await learner.start();
      break;
    } catch (error) {
      if (tried === 50) throw error;
      await pause(100);
    }
  try {
    return await during(learner);
  } finally {
    await learner.cancelRun();
    await learner.stop();
    // What the cancelled run has in flight leaves the workers first.
    workers.pacer.perSecond = Number.POSITIVE_INFINITY;
    await pause(2_000);
  }
}

async function paced(
  setting: Setting,
  rate: number,
  forMs: number,
  hop: { p50: number; p99: number },
): Promise<Figure[]> {
  const { watch, workers, say, plane } = setting;
  const runId = `paced-${rate}`;
  say(`${rate} trajectories/s for ${forMs / 1000} s`);
  return withRun(setting, runId, rate, 'stored', async () => {
    await pause(WARM_UP_MS);
    const [from, cpu] = [now(), planeCpu(plane)];
    await pause(forMs);
    const [to, spent] = [now(), cpuSpent(cpu, planeCpu(plane))];
    const latency = distributionOf(watch.latencies(runId, from, to, workers.rewardedAt));
    const seconds = (to - from) / 1000;
    const name = `${rate}/s`;
    return [
      { name: `${name}: reached`, value: watch.trajectories(runId, from, to) / seconds, unit: '1/s' },
      {
        name: `${name}: last reward -> batch p50`,
        value: latency.p50,
        unit: 'ms',
        floor: hop.p50,
        floorIs: `latency: ${KAFKA_HOP}`,
        count: latency.count,
      },
      {
        name: `${name}: last reward -> batch p99`,
        value: latency.p99,
        unit: 'ms',
        floor: hop.p99,
        floorIs: `latency: ${KAFKA_HOP}`,
        count: latency.count,
      },
      ...cpuFigures(name, spent, seconds),
    ];
  });
}

/** As fast as it goes: what is in flight is bounded by admission, so the rate is one that can be sustained. */
async function flatOut(setting: Setting, mode: BodyMode): Promise<Figure[]> {
  const { watch, workers, say, plane, kafka } = setting;
  const runId = `flat-out-${mode}`;
  say(`as fast as it goes, bodies ${mode}`);
  return withRun(setting, runId, Number.POSITIVE_INFINITY, mode, async () => {
    await pause(WARM_UP_MS);
    const [from, cpu] = [now(), planeCpu(plane)];
    const lagBefore = await lagOf(kafka);
    await pause(FLAT_OUT_MS);
    const lagAfter = await lagOf(kafka);
    const [to, spent] = [now(), cpuSpent(cpu, planeCpu(plane))];
    const seconds = (to - from) / 1000;
    const latency = distributionOf(watch.latencies(runId, from, to, workers.rewardedAt));
    const name = `flat out, bodies ${mode}`;
    return [
      { name: `${name}: trajectories`, value: watch.trajectories(runId, from, to) / seconds, unit: '1/s' },
      { name: `${name}: last reward -> batch p50`, value: latency.p50, unit: 'ms', count: latency.count },
      { name: `${name}: processors' lag at the start`, value: lagBefore, unit: 'records' },
      { name: `${name}: processors' lag at the end`, value: lagAfter, unit: 'records' },
      ...cpuFigures(name, spent, seconds),
    ];
  });
}

async function lagOf(kafka: KafkaPort): Promise<number> {
  let lag = 0;
  for (const topic of GROUP_INPUTS)
    for (const partition of await kafka.admin.dataLag('group-processor', topic)) lag += partition.lag;
  for (const topic of RUN_INPUTS)
    for (const partition of await kafka.admin.dataLag('run-processor', topic)) lag += partition.lag;
  return lag;
}

function cpuFigures(name: string, spent: ReadonlyMap<string, number>, seconds: number): Figure[] {
  return [...spent].map(([process, cpu]) => ({ name: `${name}: CPU ${process}`, value: cpu / seconds, unit: 'cores' }));
}

/** Fills the window of unacknowledged batches, then downloads them. */
async function delivery(setting: Setting): Promise<Figure[]> {
  const { watch, workers, say, objects, gateway } = setting;
  const runId = 'delivery';
  say('samples over HTTP');
  return withRun(setting, runId, Number.POSITIVE_INFINITY, 'stored', async (learner) => {
    learner.holds = true;
    const mine = () => watch.seen.filter((batch) => batch.runId === runId && batch.event.seq > learner.acknowledged);
    await waitFor('16 batches on offer', 120_000, () => mine().length >= 16);
    // Nothing else is to go on: the window is full, so nothing more is admitted.
    let before = -1;
    while (before !== workers.recorded) {
      before = workers.recorded;
      await pause(500);
    }
    const batches = mine().map(({ event }) => event);
    await deliver(gateway, batches.slice(0, 4), 1);
    const one = await deliver(gateway, batches, 1);
    const two = await deliver(gateway, batches, 2);
    const floor = await bareDelivery(one.bytes);
    const reading = await bareReading(objects, batches);
    const common = {
      unit: '1/s',
      floor: floor.perSecond,
      floorIs: `delivery: ${BARE_DELIVERY}`,
      count: one.trajectories,
    };
    return [
      { name: 'samples over HTTP, avro, 1 connection', value: one.perSecond, ...common },
      { name: 'samples over HTTP, avro, 2 connections', value: two.perSecond, ...common },
      { name: 'samples over HTTP, avro, 1 connection', value: one.mebibytesPerSecond, unit: 'MiB/s' },
      { name: 'read, verify, decode, encode in this process', value: reading, ...common },
    ];
  });
}
