import { join } from 'node:path';
import { repositoryRoot, startPlane, type Plane } from '@espalier/local-plane';
import { beginRun } from '../demo/demo-run.ts';
import { EXIT } from '../errors.ts';
import { displayKind, displayOf } from '../following/display.ts';
import { followRun } from '../following/follow-run.ts';
import { nextSteps, summaryLines } from '../following/summary.ts';
import { duration, percent } from '../output/format.ts';
import { openPlane } from '../plane-access/open-plane.ts';
import { readRunFile, type RunDefinition } from '../run-file/read-run-file.ts';
import type { RunSnapshot } from '../run-view/run-snapshot.ts';
import { RunView } from '../run-view/run-view.ts';
import type { CommandContext } from './command-context.ts';

/** Flags of `up`. */
export interface UpFlags {
  readonly demo?: boolean;
  readonly plain?: boolean;
  readonly keep?: boolean;
  readonly run?: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A Ctrl-C arrives from the terminal and from each process in between that passes it on: so long it is one wish. Milliseconds. */
const REPEAT_MS = 1_000;

/** Aborts at the first signal; another one later ends this process at once, and what it supervises ends behind it. */
class Interrupt {
  readonly #controller = new AbortController();
  #first = 0;
  readonly #listener = (): void => {
    if (!this.#controller.signal.aborted) this.#first = performance.now();
    else if (performance.now() - this.#first > REPEAT_MS) process.exit(EXIT.interrupted);
    this.#controller.abort();
  };

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Resolves at the first signal. */
  wait(): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  dispose(): void {
    for (const name of SIGNALS) process.off(name, this.#listener);
  }
}

/** Starts the plane; with a run, works on it until its end. Returns when everything is down again. */
export async function up(context: CommandContext, flags: UpFlags): Promise<void> {
  const file = flags.run ?? (flags.demo === true ? join(repositoryRoot(), 'examples', 'demo.yaml') : null);
  // A file that is wrong is said before anything is started.
  const definition = file === null ? null : await readRunFile(file);
  const interrupt = new Interrupt();
  let plane: Plane | undefined;
  try {
    plane = await start(context, interrupt);
    if (plane === undefined) return;
    const started = plane;
    // Services take a while to drain: they begin at once, while this command still puts its own things in order.
    interrupt.signal.addEventListener('abort', () => {
      context.out.line('stopping');
      void started.stop().catch(() => undefined);
    });
    if (definition === null) {
      announce(context, plane);
      await interrupt.wait();
      context.exit(EXIT.ok);
    } else {
      await work(context, plane, definition, flags, interrupt);
    }
  } finally {
    if (plane !== undefined) {
      if (!interrupt.signal.aborted) context.out.line('stopping');
      await plane.stop();
    }
    interrupt.dispose();
  }
}

/** Undefined when a signal came while it was starting. */
async function start(context: CommandContext, interrupt: Interrupt): Promise<Plane | undefined> {
  const began = Date.now();
  const { config, out } = context;
  const starting = startPlane({
    dir: config.dir,
    ...(config.prefix === null ? {} : { prefix: config.prefix }),
    ...(config.brokers === null ? {} : { brokers: config.brokers }),
    profile: config.profile,
    onProgress: (part, phase) => {
      const after = duration(Date.now() - began);
      if (phase === 'ready') out.line(`  ${part} is ready after ${after}`);
      out.value({ plane: part, phase, after_ms: Date.now() - began });
    },
  });
  out.line('starting the plane');
  const plane = await starting;
  if (!interrupt.signal.aborted) return plane;
  await plane.stop();
  context.exit(EXIT.interrupted);
  return undefined;
}

function announce({ out }: CommandContext, plane: Plane): void {
  out.line('the plane is up; Ctrl-C stops it');
  for (const service of ['trainer-gateway', 'sandbox-manager', 'reference-learner', 'value-reranker'] as const) {
    const url = plane.url(service);
    if (url !== null) out.line(`  ${service.padEnd(18)} ${url}`);
  }
  out.line(`  ${'kafka'.padEnd(18)} ${plane.brokers.join(', ')}  (prefix ${plane.prefix})`);
  out.line(`  ${'data and logs'.padEnd(18)} ${plane.dir}`);
  out.value({ plane: 'up', state: plane.state() });
}

async function work(
  context: CommandContext,
  plane: Plane,
  definition: RunDefinition,
  flags: UpFlags,
  interrupt: Interrupt,
): Promise<void> {
  const { out, stdout, config } = context;
  const access = await openPlane(config, 'write');
  try {
    const { runId, resumed, tasks } = await beginRun(access, definition);
    out.line(`${resumed ? 'taking up' : 'beginning'} run ${runId} with ${tasks} tasks`);
    const view = new RunView(runId);
    const display = displayOf(displayKind(context, flags.plain ?? false), view, stdout);
    const end = await followRun(access.kafka, view, display, interrupt.signal);
    const snapshot = view.snapshot();
    out.line();
    for (const line of summaryLines(snapshot)) out.line(line);
    out.value({ summary: snapshot });
    if (end === 'interrupted') {
      out.line(`run ${runId} has not ended; "espalier up" with the same run takes it up again`);
      context.exit(EXIT.interrupted);
      return;
    }
    judge(context, snapshot);
    for (const line of nextSteps(runId)) out.line(line);
    if (flags.keep === true) {
      announce(context, plane);
      await interrupt.wait();
    }
  } finally {
    await access.close();
  }
}

/** Success is what the run was for: its pass rate where it has one for a target, else that it completed. */
function judge({ out, exit }: CommandContext, snapshot: RunSnapshot): void {
  const wanted = snapshot.target.pass_rate;
  const reached = wanted === null ? snapshot.state === 'COMPLETED' : snapshot.pass_rate_met;
  exit(reached ? EXIT.ok : EXIT.no);
  if (wanted === null) return;
  const last = `${percent(snapshot.last_pass_rate)} over the last ${Math.min(snapshot.scored, snapshot.pass_rate_window)}`;
  if (reached) out.line(`the pass rate has reached its target: ${last}`);
  else out.notice(`the pass rate has not reached its target of ${percent(wanted)}: ${last}`);
}
