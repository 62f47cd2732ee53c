import { runningPlane } from '@espalier/local-plane';
import { EXIT } from '../errors.ts';
import { readRuns } from '../log-reading/read-topic.ts';
import { moment, percent } from '../output/format.ts';
import { findRunning, withPlane } from '../plane-access/open-plane.ts';
import { serviceLags } from '../plane-access/service-lag.ts';
import type { ServiceLag } from '../run-view/render.ts';
import type { CommandContext } from './command-context.ts';

/** Shows the processes of the plane, what its services have still to read, and its runs. Exit code 1 when not all is well. */
export async function status({ config, out, exit }: CommandContext): Promise<void> {
  const plane = runningPlane(config.dir);
  const found = findRunning(config);
  if (found === null) {
    out.value({ running: false, dir: config.dir });
    out.line(`no plane runs in ${config.dir}`);
    exit(EXIT.no);
    return;
  }
  const { lags, runs } = await withPlane(config, 'read', async ({ kafka }) => ({
    lags: await serviceLags(kafka),
    runs: await readRuns(kafka),
  }));
  const processes = plane?.processes ?? [];
  out.value({ running: true, brokers: found.brokers, prefix: found.prefix, plane, lags, runs });
  if (!out.json) {
    out.line(`kafka ${found.brokers.join(', ')}, prefix ${found.prefix}`);
    if (plane !== null) out.line(`plane since ${plane.startedAt}, supervised by process ${plane.pid}\n`);
    out.rows(
      processes,
      [
        ['process', ({ name }) => name],
        ['state', ({ state }) => state],
        ['pid', ({ pid }) => pid],
        ['restarts', ({ restarts }) => restarts],
        ['http', ({ ports }) => ports?.http],
        ['lag', ({ name }) => lagOf(name, lags)],
        ['log', ({ logFile }) => logFile],
      ],
      'the services of this deployment are not supervised on this machine',
    );
    out.line();
    out.rows(
      runs,
      [
        ['run', ({ run_id }) => run_id],
        ['state', ({ state }) => state.toLowerCase()],
        ['since', ({ submitted_at }) => (submitted_at === null ? null : moment(submitted_at))],
        ['ended', ({ attempts_ended }) => attempts_ended],
        ['trained', ({ batches_trained }) => batches_trained],
        ['pass rate', ({ pass_rate }) => percent(pass_rate)],
      ],
      'no runs yet',
    );
  }
  exit(processes.every(({ state }) => state === 'ready') ? EXIT.ok : EXIT.no);
}

/** The consumer groups of a service, where they have other names. */
const GROUPS: Readonly<Record<string, readonly string[]>> = { 'trainer-gateway': ['run-processor', 'group-processor'] };

/** Records that a process's service has still to read, over all its replicas; null for one that reads none. */
function lagOf(name: string, lags: readonly ServiceLag[]): number | null {
  const service = name.replace(/-\d+$/, '');
  const own = lags.filter(({ group }) => (GROUPS[service] ?? [service]).includes(group));
  return own.length === 0 ? null : own.reduce((sum, { lag }) => sum + lag, 0);
}
