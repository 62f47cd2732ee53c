import type { RunCommanded, RunConfig } from '@espalier/contracts';
import { configOf, headOf, isLive, recentOf, report, writeHead, type KnownRun } from './context.ts';
import { configKey, recentKey, type ConfigEntry } from './entries.ts';
import { drain } from './ending.ts';
import { runConfigProblems } from './legality.ts';
import { answerAgain, settle, type Verdict } from './verdicts.ts';

const ACCEPTED: Verdict = { accepted: true, code: null, message: '' };
const refused = (code: string, message: string): Verdict => ({ accepted: false, code, message });

/** Carries out a command once; a retry gets the same verdict. */
export function onCommanded(run: KnownRun, event: RunCommanded): void {
  if (answerAgain(run, event.command_id, 'VERDICT')) return;
  const before = headOf(run).state;
  const verdict = isLive(run)
    ? carryOut(run, event)
    : refused('RUN_ENDED', `run ${run.runId} is ${before}; it takes no more commands`);
  settle(run, event.command_id, 'VERDICT', verdict);
  if (headOf(run).state !== before && headOf(run).state !== 'DRAINING') report(run, 'STATE', { message: event.reason });
}

function carryOut(run: KnownRun, event: RunCommanded): Verdict {
  const head = headOf(run);
  switch (event.command) {
    case 'PAUSE':
      if (head.state === 'DRAINING') return refused('RUN_ENDING', 'the run is ending');
      writeHead(run, { state: 'PAUSED', pausedBy: 'COMMAND' });
      return ACCEPTED;
    case 'RESUME':
      if (head.state === 'DRAINING') return refused('RUN_ENDING', 'the run is ending');
      writeHead(run, { state: 'ACTIVE', pausedBy: null });
      // What failed before the cause was mended must not open the breaker again.
      if (head.state === 'PAUSED') run.work.put(recentKey(run.runId), 'recent', { ...recentOf(run), infra: [] });
      return ACCEPTED;
    case 'CANCEL':
      if (head.endReason !== 'CANCEL') drain(run, 'CANCEL', event.reason || 'cancelled');
      return ACCEPTED;
    case 'CLOSE_TASKS':
      writeHead(run, { tasksClosed: true });
      return ACCEPTED;
    case 'CHANGE':
      return change(run, event.change_json);
    case 'UNKNOWN':
      return refused('COMMAND_UNKNOWN', 'this version of the plane does not know the command');
    default:
      return event.command satisfies never;
  }
}

/** What may be altered while a run goes on. */
interface Change {
  target?: RunConfig['target'];
  max_attempts_in_flight?: number;
  max_staleness?: number;
}

const CHANGEABLE = ['target', 'max_attempts_in_flight', 'max_staleness'];

function change(run: KnownRun, text: string | null): Verdict {
  let wanted: Change;
  try {
    wanted = JSON.parse(text ?? 'null') as Change;
  } catch {
    return refused('CHANGE_INVALID', 'change_json is not JSON');
  }
  if (typeof wanted !== 'object' || (wanted as unknown) === null)
    return refused('CHANGE_INVALID', 'change_json must be an object');
  const unknown = Object.keys(wanted).filter((key) => !CHANGEABLE.includes(key));
  if (unknown.length > 0)
    return refused('CHANGE_INVALID', `cannot change ${unknown.join(', ')}; only ${CHANGEABLE.join(', ')}`);
  const entry = run.work.get<ConfigEntry>(configKey(run.runId));
  if (!entry) return refused('RUN_UNKNOWN', `run ${run.runId} is unknown`);
  const config: RunConfig = {
    ...configOf(run),
    ...(wanted.target === undefined ? {} : { target: { ...entry.config.target, ...wanted.target } }),
    ...(wanted.max_attempts_in_flight === undefined ? {} : { max_attempts_in_flight: wanted.max_attempts_in_flight }),
    ...(wanted.max_staleness === undefined
      ? {}
      : { batch: { ...entry.config.batch, max_staleness: wanted.max_staleness } }),
  };
  const problems = runConfigProblems(run.runId, config);
  if (problems.length > 0) return refused('CHANGE_INVALID', problems.join('; '));
  run.work.put(configKey(run.runId), 'config', { ...entry, config });
  return ACCEPTED;
}
