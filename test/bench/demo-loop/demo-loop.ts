import { LoopSession } from '../../e2e/support/loop-session.ts';
import { BARE_SANDBOX, bareSandboxStarts, FORK_EXEC, forkExecs } from '../floors/sandbox-start.ts';
import { KAFKA_HOP, kafkaHop } from '../floors/kafka-hop.ts';
import { now, pause, waitFor } from '../measure/clock.ts';
import { cpuSpent, type CpuTime } from '../measure/cpu.ts';
import { distributionOf } from '../measure/distribution.ts';
import { watchBusyCores } from '../measure/machine.ts';
import { planeCpu } from '../measure/processes.ts';
import type { BenchOptions, BenchResult, Figure } from '../report/figures.ts';
import { stagesOf, type Stages } from './stages.ts';

const TASKS = [
  'log-level',
  'rate-limiter',
  'bank-overdraft',
  'thermostat',
  'moving-peak',
  'page-slice',
  'backup-rotation',
  'disk-alert',
];
const WARM_UP = 40;
const MEASURED = 150;
const IDLE_MS = 6_000;
const RUN = 'bench';

/** The loop of `npm start` for {@link MEASURED} rollouts after a warm-up: rate, stages, CPU. */
export async function demoLoop({ say, serviceEnv }: BenchOptions): Promise<BenchResult> {
  const begun = now();
  const busy = watchBusyCores();
  say('starting the plane');
  const session = await LoopSession.start({ env: serviceEnv, logLevel: 'warn' });
  try {
    const forks = distributionOf(await forkExecs(50));
    const bare = distributionOf(await bareSandboxStarts(15));
    const hop = distributionOf((await kafkaHop(session.kafka, 200)).whole);
    const idle = await idleCpu(session);
    const window = await rollOut(session, say);
    const rate = MEASURED / ((window.to - window.from) / 1000);
    const stages = await stagesOf(session.kafka, RUN, window.from, window.to);
    const figures: Figure[] = [
      {
        name: 'rollouts, scored',
        value: rate,
        unit: '1/s',
        floor: 1000 / (2 * bare.p50),
        floorIs: 'rollouts: two bare sandboxes after one another a rollout, as one core does them and nothing in them',
        count: MEASURED,
      },
      ...stageFigures(stages, hop.p50, bare.p50),
      ...cpuFigures(window.cpu, forks.p50),
      ...[...idle].map(([name, cores]) => ({ name: `idle plane: CPU ${name}`, value: cores, unit: 'cores' })),
    ];
    return {
      bench: 'demo-loop',
      figures,
      notes: [
        `floors: hop p50 ${hop.p50.toFixed(2)} / p99 ${hop.p99.toFixed(2)} ms, bare sandbox p50 ${bare.p50.toFixed(1)} ms, fork+exec p50 ${forks.p50.toFixed(2)} ms`,
        `${TASKS.length} tasks, harness mini, reference policy (learning), verifier@v1, ${WARM_UP} rollouts of warm-up`,
      ],
      busyCores: busy(),
      seconds: (now() - begun) / 1000,
    };
  } finally {
    await session.stop();
  }
}

/** Cores that each process keeps busy while the plane has nothing to do. */
async function idleCpu({ plane }: LoopSession): Promise<Map<string, number>> {
  await pause(3_000);
  const before = planeCpu(plane);
  await pause(IDLE_MS);
  const spent = cpuSpent(before, planeCpu(plane));
  spent.delete('bench');
  return new Map([...spent].map(([name, seconds]) => [name, seconds / (IDLE_MS / 1000)]));
}

interface Window {
  /** Milliseconds UTC. */
  readonly from: number;
  readonly to: number;
  readonly cpu: ReadonlyMap<string, number>;
}

async function rollOut(session: LoopSession, say: (line: string) => void): Promise<Window> {
  let scored = 0;
  let first: { at: number; cpu: Map<string, CpuTime> } | undefined;
  let last: { at: number; cpu: Map<string, CpuTime> } | undefined;
  const read = (): { at: number; cpu: Map<string, CpuTime> } => ({ at: Date.now(), cpu: planeCpu(session.plane) });
  const watcher = session.kafka.broadcast({
    topics: ['trajectory.scored'],
    from: 'latest',
    handler: ({ value }) => {
      if (value.run_id !== RUN || value.revision !== 0) return;
      scored += 1;
      if (scored === WARM_UP) first = read();
      if (scored === WARM_UP + MEASURED) last = read();
    },
  });
  await watcher.start();
  try {
    await session.createRun(RUN, TASKS, {
      batch: { size: 16, max_staleness: 1 },
      target: { rollouts: WARM_UP + MEASURED + 60 },
      max_attempts_in_flight: 24,
    });
    say('rolling out');
    await waitFor(`${WARM_UP + MEASURED} scored rollouts`, 600_000, () => last !== undefined);
  } finally {
    await watcher.stop();
  }
  if (first === undefined || last === undefined) throw new Error('no window was measured');
  return { from: first.at, to: last.at, cpu: cpuSpent(first.cpu, last.cpu) };
}

function stageFigures(stages: Stages, hopMs: number, bareMs: number): Figure[] {
  const figures = (name: string, values: readonly number[], floor: number, floorIs: string): Figure[] => {
    const { p50, p99, count } = distributionOf(values);
    return [
      { name: `${name} p50`, value: p50, unit: 'ms', floor, floorIs, count },
      { name: `${name} p99`, value: p99, unit: 'ms', floor, floorIs, count },
    ];
  };
  return [
    ...figures('requested -> granted', stages.requestedToGranted, hopMs, `granted, decision: ${KAFKA_HOP}`),
    ...figures('granted -> harness started', stages.grantedToHarness, bareMs, `sandboxes: ${BARE_SANDBOX}`),
    ...figures('harness run', stages.harnessRun, bareMs, `sandboxes: ${BARE_SANDBOX}`),
    ...figures('harness ended -> recorded', stages.harnessToRecorded, hopMs, `granted, decision: ${KAFKA_HOP}`),
    ...figures(
      'recorded -> scoring granted',
      stages.recordedToScoringGranted,
      hopMs,
      `granted, decision: ${KAFKA_HOP}`,
    ),
    ...figures('scoring granted -> reward', stages.scoringGrantedToReward, bareMs, `sandboxes: ${BARE_SANDBOX}`),
    ...figures('recorded -> reward', stages.recordedToReward, bareMs, `sandboxes: ${BARE_SANDBOX}`),
    ...figures('reward -> group decision', stages.rewardToDecision, hopMs, `granted, decision: ${KAFKA_HOP}`),
  ];
}

function cpuFigures(cpu: ReadonlyMap<string, number>, forkMs: number): Figure[] {
  const floor = { floor: forkMs / 1000, floorIs: `CPU: ${FORK_EXEC} (wall time)` };
  const total = [...cpu.values()].reduce((sum, seconds) => sum + seconds, 0);
  const sorted = [...cpu].sort(([, a], [, b]) => b - a);
  return [
    { name: 'CPU a rollout, all', value: total / MEASURED, unit: 's', ...floor },
    ...sorted.map(([name, seconds]) => ({ name: `  ${name}`, value: seconds / MEASURED, unit: 's', ...floor })),
  ];
}
