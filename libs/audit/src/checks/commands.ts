import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import type { RunIndex } from './run-index.ts';

const COMMAND_TOPICS = ['run.commanded', 'learner.joined', 'batch.trained', 'policy.published'] as const;
type Command = Placed<(typeof COMMAND_TOPICS)[number]>;

/**
 * Commands, joins, acknowledgements and publications: each has one verdict in run.reported, in the order they were given;
 * acknowledgements come from the current session and never fall within it.
 */
export const checkCommands: Check = (run, findings) => {
  const commands = new Map<string, Command>();
  for (const topic of COMMAND_TOPICS) {
    for (const command of run.log.of(topic) as readonly Command[]) {
      const known = commands.get(command.value.command_id);
      if (!known) commands.set(command.value.command_id, command);
      else if (known.topic === topic)
        findings.warning('COMMAND_REPEATED', command, `command ${command.value.command_id} was given before`);
      else findings.violation('COMMAND_REPEATED', command, `${command.value.command_id} is a ${known.topic}, too`);
    }
  }
  const verdicts = new Map<string, Placed<'run.reported'>>();
  for (const report of run.log.of('run.reported')) {
    const { command_id: id } = report.value;
    if (id === null) continue;
    if (report.value.kind === 'TASK') {
      checkTaskVerdict(run, report, id, findings);
      continue;
    }
    if (!commands.has(id) && !COMMAND_TOPICS.some((topic) => run.truncated(topic)))
      findings.violation('COMMAND_MISSING', report, `verdict of ${id} (${report.value.kind}), which nobody gave`);
    if (!verdicts.has(id)) verdicts.set(id, report);
  }
  for (const [id, command] of commands) {
    if (!verdicts.has(id) && run.settled(command) && !run.truncated('run.reported'))
      findings.warning('COMMAND_UNANSWERED', command, `command ${id} got no verdict`);
  }
  for (const topic of COMMAND_TOPICS) checkOrder(run.log.of(topic), verdicts, findings);
  checkSessions(run, findings);
  checkPolicies(run, findings);
};

/** A refused task was submitted. */
function checkTaskVerdict(run: RunIndex, report: Placed<'run.reported'>, taskId: string, findings: Findings): void {
  if (run.truncated('task.submitted')) return;
  if (!run.log.of('task.submitted').some(({ value }) => value.task_id === taskId))
    findings.violation('COMMAND_MISSING', report, `a verdict on task ${taskId}, which nobody submitted`);
}

/** Commands of one topic lie in one partition: their verdicts come in the same order. */
function checkOrder(
  commands: readonly Command[],
  verdicts: ReadonlyMap<string, Placed<'run.reported'>>,
  findings: Findings,
): void {
  let last: Placed<'run.reported'> | undefined;
  for (const command of commands) {
    const verdict = verdicts.get(command.value.command_id);
    if (!verdict) continue;
    if (last && verdict.offset < last.offset)
      findings.violation(
        'COMMAND_ORDER',
        command,
        `its verdict (offset ${verdict.offset}) precedes that of an earlier one`,
      );
    else last = verdict;
  }
}

/** Replays the sessions: joins count up and may rewind; an acknowledgement of the current session never lowers anything. */
function checkSessions(run: RunIndex, findings: Findings): void {
  const acks = new Map(run.log.of('batch.trained').map((ack) => [ack.value.command_id, ack]));
  const acknowledged = new Set(
    run.log.of('run.reported').flatMap(({ value }) => {
      const ack = value.kind === 'TRAINED' && value.accepted === true ? acks.get(value.command_id ?? '') : undefined;
      return ack ? [ack.value.seq] : [];
    }),
  );
  const seen = new Set<string>();
  let session = 0;
  let trained = 0;
  for (const report of run.log.of('run.reported')) {
    const { kind, learner_epoch, trained_seq, accepted, command_id, next_seq } = report.value;
    // A retried command gets its verdict again; only the first one did anything.
    const again = command_id !== null && seen.has(command_id);
    if (command_id !== null) seen.add(command_id);
    const carriedOut = accepted === true && !again;
    const expected = session + (kind === 'LEARNER' && carriedOut ? 1 : 0);
    if (!again && learner_epoch !== null && learner_epoch !== expected && !run.truncated('run.reported'))
      findings.violation('LEARNER_EPOCH', report, `speaks of learner session ${learner_epoch}, it must be ${expected}`);
    session = Math.max(expected, again ? 0 : (learner_epoch ?? 0));
    const ack = command_id === null ? undefined : acks.get(command_id);
    if (kind === 'LEARNER' && carriedOut) {
      if (next_seq !== null && trained_seq !== null && next_seq !== trained_seq + 1)
        findings.violation(
          'REWIND_DIFFERS',
          report,
          `a session from batch ${trained_seq} is offered batch ${next_seq}`,
        );
      trained = trained_seq ?? trained;
    } else if (kind === 'TRAINED' && carriedOut && ack) {
      if (ack.value.learner_epoch !== session)
        findings.violation(
          'ACK_STALE',
          report,
          `session ${ack.value.learner_epoch} acknowledged in session ${session}`,
        );
      trained = Math.max(trained, ack.value.seq);
    }
    // That a version counts is reported just before the verdict of the acknowledgement that made it count.
    const ahead = kind === 'POLICY' && command_id === null && trained_seq !== null && acknowledged.has(trained_seq);
    const known = trained_seq === null || trained_seq === trained || (ahead && trained_seq > trained);
    if (!known && !run.truncated('run.reported') && !run.truncated('batch.trained'))
      findings.violation('TRAINED_DIFFERS', report, `says batch ${trained_seq} is trained, acknowledged is ${trained}`);
    trained = trained_seq ?? trained;
  }
}

/** Sampled tokens come from versions that were published; versions that count rise. */
function checkPolicies(run: RunIndex, findings: Findings): void {
  const publications = run.log.of('policy.published').filter(({ value }) => value.phase !== 'UNKNOWN');
  const published = new Set(publications.map(({ value }) => value.version));
  const first = Math.min(...published, Number.POSITIVE_INFINITY);
  const ready = new Map(publications.filter(({ value }) => value.phase === 'READY').map((p) => [p.value.version, p]));
  let counting = -1;
  let trained = 0;
  for (const report of run.log.of('run.reported')) {
    const { policy_version: version, trained_seq } = report.value;
    trained = Math.max(trained, trained_seq ?? 0);
    if (version === null) continue;
    if (version < counting) findings.violation('POLICY_FELL', report, `version ${version} counts after ${counting}`);
    counting = Math.max(counting, version);
    if (version === 0 || run.truncated('policy.published')) continue;
    const publication = ready.get(version);
    if (!publication)
      findings.violation('POLICY_UNPUBLISHED', report, `version ${version} counts but was never published`);
    else if (publication.value.after_batch > trained)
      findings.violation(
        'POLICY_EARLY',
        report,
        `version ${version} counts before its batch ${publication.value.after_batch} is trained`,
      );
  }
  if (published.size === 0 || run.truncated('policy.published')) return;
  for (const record of run.log.of('trajectory.recorded')) {
    const { policy_version_min: min, policy_version_max: max, attempt_id } = record.value;
    // The version a run begins with needs no publication.
    for (const version of new Set([min, max]))
      if (version !== null && version >= first && !published.has(version))
        findings.violation(
          'POLICY_UNPUBLISHED',
          record,
          `${attempt_id} was sampled by version ${version}, never published`,
        );
  }
}
