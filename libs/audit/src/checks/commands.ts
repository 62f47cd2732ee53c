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
    if (!commands.has(id) && !COMMAND_TOPICS.some((topic) => run.truncated(topic)))
      findings.violation('COMMAND_MISSING', report, `verdict of ${id} (${report.value.kind}), which nobody gave`);
    if (!verdicts.has(id)) verdicts.set(id, report);
  }
  for (const [id, command] of commands) {
    const verdict = verdicts.get(id);
    if (verdict) checkVerdict(command, verdict, findings);
    else if (run.settled(command) && !run.truncated('run.reported'))
      findings.warning('COMMAND_UNANSWERED', command, `command ${id} got no verdict`);
  }
  for (const topic of COMMAND_TOPICS) checkOrder(run.log.of(topic) as readonly Command[], verdicts, findings);
  checkSessions(run, findings);
  checkPolicies(run, findings);
};

function checkVerdict(command: Command, verdict: Placed<'run.reported'>, findings: Findings): void {
  const { accepted, trained_seq, policy_version } = verdict.value;
  if (accepted === false) return;
  if (command.topic === 'batch.trained') {
    const { seq } = command.value as Placed<'batch.trained'>['value'];
    if (trained_seq !== null && trained_seq < seq)
      findings.violation('ACK_DIFFERS', verdict, `acknowledged up to batch ${seq}, counted up to ${trained_seq}`);
  }
  if (command.topic === 'policy.published') {
    const { version, phase } = command.value as Placed<'policy.published'>['value'];
    if (phase === 'READY' && policy_version !== null && policy_version > version)
      findings.warning('POLICY_DIFFERS', verdict, `version ${version} was published, ${policy_version} counts already`);
  }
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

function checkSessions(run: RunIndex, findings: Findings): void {
  let session = 0;
  let trained = 0;
  const acks = new Map(run.log.of('batch.trained').map((ack) => [ack.value.command_id, ack]));
  for (const report of run.log.of('run.reported')) {
    const { kind, learner_epoch, trained_seq, accepted, command_id, next_seq } = report.value;
    if (learner_epoch !== null && learner_epoch < session)
      findings.violation('LEARNER_EPOCH_FELL', report, `session ${learner_epoch} reported after ${session}`);
    const joined = kind === 'LEARNER' && accepted !== false;
    if (
      joined &&
      learner_epoch !== null &&
      learner_epoch !== session + 1 &&
      !run.truncated('run.reported') &&
      learner_epoch > session
    )
      findings.violation('LEARNER_EPOCH_SKIPPED', report, `session ${learner_epoch} reported after ${session}`);
    session = Math.max(session, learner_epoch ?? 0);
    // A join may rewind; nothing else may.
    if (joined) trained = trained_seq ?? (next_seq === null ? trained : next_seq - 1);
    else if (trained_seq !== null) {
      if (trained_seq < trained)
        findings.violation(
          'TRAINED_FELL',
          report,
          `batch ${trained_seq} trained, after batch ${trained} in one session`,
        );
      trained = Math.max(trained, trained_seq);
    }
    const ack = command_id === null ? undefined : acks.get(command_id);
    if (kind === 'TRAINED' && ack && accepted !== false && ack.value.learner_epoch !== session)
      findings.violation(
        'ACK_STALE',
        report,
        `an acknowledgement of session ${ack.value.learner_epoch} counted in ${session}`,
      );
    if (
      kind === 'TRAINED' &&
      accepted !== false &&
      ack &&
      trained_seq !== null &&
      trained_seq > ack.value.seq &&
      trained_seq > trained
    )
      findings.violation(
        'ACK_DIFFERS',
        report,
        `acknowledged up to batch ${ack.value.seq}, counted up to ${trained_seq}`,
      );
    if (kind === 'TRAINED' && accepted !== false && ack && trained_seq !== ack.value.seq && trained_seq !== trained)
      findings.violation(
        'ACK_DIFFERS',
        report,
        `acknowledged up to batch ${ack.value.seq}, counted up to ${trained_seq}`,
      );
  }
}

/** Sampled tokens come from versions that were published; versions that count rise. */
function checkPolicies(run: RunIndex, findings: Findings): void {
  const publications = run.log.of('policy.published').filter(({ value }) => value.phase !== 'UNKNOWN');
  const published = new Set(publications.map(({ value }) => value.version));
  const first = Math.min(...published, Number.POSITIVE_INFINITY);
  let counting = -1;
  for (const report of run.log.of('run.reported')) {
    const version = report.value.policy_version;
    if (version === null) continue;
    if (version < counting) findings.violation('POLICY_FELL', report, `version ${version} counts after ${counting}`);
    if (version > 0 && !published.has(version) && !run.truncated('policy.published'))
      findings.violation('POLICY_UNPUBLISHED', report, `version ${version} counts but was never published`);
    counting = Math.max(counting, version);
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
