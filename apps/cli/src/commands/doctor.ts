import { execFile } from 'node:child_process';
import { access, constants, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { topicNames, topicOf } from '@espalier/contracts';
import {
  brokerAnswers,
  isPortFree,
  KAFKA_VERSION,
  kafkaJarsDir,
  planePorts,
  repositoryRoot,
  runningPlane,
  serviceNames,
} from '@espalier/local-plane';
import { EXIT } from '../errors.ts';
import { size } from '../output/format.ts';
import { findRunning, withPlane } from '../plane-access/open-plane.ts';
import type { CommandContext } from './command-context.ts';

/** `warn`: works, with less than there could be. */
type Health = 'ok' | 'warn' | 'fail';

/** One thing that was looked at. */
interface Examination {
  readonly name: string;
  readonly health: Health;
  readonly found: string;
  /** What to do about it; null when nothing. */
  readonly advice: string | null;
}

const run = promisify(execFile);
const ok = (name: string, found: string): Examination => ({ name, health: 'ok', found, advice: null });
const bad = (name: string, health: 'warn' | 'fail', found: string, advice: string): Examination => ({
  ...{ name, health, found, advice },
});
const SETUP = 'run "node tools/bootstrap/setup.mjs" in the root of the repository';
const LEAST_FREE_BYTES = 2 * 1024 ** 3;

/** Examines everything that the one-machine plane needs. Exit code 1 when something that it cannot do without is missing. */
export async function doctor(context: CommandContext): Promise<void> {
  const { config, out, exit } = context;
  const root = repositoryRoot();
  const found = [
    node(),
    await java(),
    await file('kafka jars', join(kafkaJarsDir(root), `kafka_2.13-${KAFKA_VERSION}.jar`), `Kafka ${KAFKA_VERSION}`),
    await file('sandbox agent', join(root, '.espalier', 'bin', 'sandbox-agent'), 'built'),
    await file('harness mini', join(root, '.espalier', 'payloads', 'mini'), 'installed'),
    ...(await isolation()),
    await disk(config.dir),
    await ports(config.dir),
    ...(await log(context)),
  ];
  out.rows(
    found,
    [
      ['', ({ health }) => health],
      ['what', ({ name }) => name],
      ['found', ({ found: text }) => text],
      ['do', ({ advice }) => advice ?? ''],
    ],
    '',
  );
  exit(found.some(({ health }) => health === 'fail') ? EXIT.no : EXIT.ok);
}

function node(): Examination {
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major >= 24) return ok('node', process.versions.node);
  return bad('node', 'fail', process.versions.node, 'use Node 24: npm scripts and npx of this repository bring it');
}

async function java(): Promise<Examination> {
  try {
    const { stderr } = await run('java', ['-version'], { timeout: 20_000 });
    const version = /"(\d+)[^"]*"/.exec(stderr);
    const text = stderr.split('\n')[0] ?? 'unknown';
    return Number(version?.[1] ?? 0) >= 17 ? ok('java', text) : bad('java', 'fail', text, 'install Java 17 or newer');
  } catch {
    return bad('java', 'fail', 'not found', 'install Java 17 or newer (Debian: openjdk-17-jre-headless)');
  }
}

async function file(name: string, path: string, found: string): Promise<Examination> {
  try {
    await access(path, constants.R_OK);
    return ok(name, found);
  } catch {
    return bad(name, 'fail', `${path} is missing`, SETUP);
  }
}

/** What a sandbox will be shut in by: tried, not guessed. */
async function isolation(): Promise<Examination[]> {
  let version: string;
  try {
    version = (await run('bwrap', ['--version'], { timeout: 10_000 })).stdout.trim();
  } catch {
    const advice =
      'install bubblewrap; without it sandboxes are refused unless a flag of the sandbox-manager allows it';
    return [bad('bubblewrap', 'fail', 'not found', advice), bad('isolation', 'fail', 'none', 'install bubblewrap')];
  }
  const wrap = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--die-with-parent', '--unshare-pid'];
  const attempts = [
    ['user, pid, network, ipc and mount namespaces', [...wrap, '--unshare-all']],
    ['pid and mount namespaces, network shared', wrap],
  ] as const;
  for (const [index, [level, flags]] of attempts.entries()) {
    try {
      await run('bwrap', [...flags, 'true'], { timeout: 10_000 });
      const level_ = index === 0 ? ok('isolation', level) : bad('isolation', 'warn', level, 'allow user namespaces');
      return [ok('bubblewrap', version), level_];
    } catch {
      // The next, weaker one.
    }
  }
  const advice = 'allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root';
  return [ok('bubblewrap', version), bad('isolation', 'fail', 'namespaces cannot be made', advice)];
}

async function disk(dir: string): Promise<Examination> {
  let at = dir;
  for (;;) {
    try {
      const { bavail, bsize } = await statfs(at);
      const free = bavail * bsize;
      const text = `${size(free)} free at ${at}`;
      return free >= LEAST_FREE_BYTES ? ok('disk', text) : bad('disk', 'warn', text, `free ${size(LEAST_FREE_BYTES)}`);
    } catch {
      if (at === dirname(at)) return bad('disk', 'fail', `${dir} cannot be examined`, 'choose another --dir');
      at = dirname(at);
    }
  }
}

async function ports(dir: string): Promise<Examination> {
  const plane = runningPlane(dir);
  if (plane !== null) return ok('ports', `in use by the plane that runs (process ${plane.pid})`);
  const wanted = serviceNames.flatMap((name) => {
    const { http, metrics }: { http?: number; metrics: number } = planePorts.services[name];
    return http === undefined ? [metrics] : [http, metrics];
  });
  const taken: number[] = [];
  for (const port of [planePorts.kafka, planePorts.kafkaController, ...wanted])
    if (!(await isPortFree(port))) taken.push(port);
  if (taken.length === 0) return ok('ports', 'all free');
  return bad('ports', 'fail', `taken: ${taken.join(', ')}`, 'end what listens there; "espalier up" needs them');
}

/** The broker and its topics, where they run. */
async function log({ config }: CommandContext): Promise<Examination[]> {
  const running = findRunning(config);
  if (running === null) return [ok('broker', 'none runs; "espalier up" starts one'), ok('topics', 'not looked at')];
  const where = running.brokers.join(', ');
  if (!(await brokerAnswers(running.brokers)))
    return [bad('broker', 'fail', `does not answer at ${where}`, 'look at its log, or start it')];
  const missing = await withPlane(config, 'read', async ({ kafka }) => {
    const there = new Set((await kafka.admin.describe()).map(({ topic }) => topic));
    return topicNames.filter((name) => !there.has(topicOf(running.prefix, name)));
  }).catch(() => [...topicNames]);
  const topics =
    missing.length === 0
      ? ok('topics', `all ${topicNames.length} are there (prefix ${running.prefix})`)
      : bad('topics', 'warn', `missing: ${missing.join(', ')}`, '"espalier up" creates them');
  return [ok('broker', `answers at ${where}`), topics];
}
