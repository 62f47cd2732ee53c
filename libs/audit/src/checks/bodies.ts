import { decodeBody } from '@espalier/avro';
import type { TrainSample, TrajectoryBody } from '@espalier/contracts';
import type { ObjectStore } from '@espalier/objects';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import { groupBy, type RunIndex } from './run-index.ts';

/** The part of an object store that an audit needs. */
export type BodyStore = Pick<ObjectStore, 'get'>;

/** Log-probs are stored as 32-bit floats; their sums may differ by rounding alone. */
const LOGPROB_TOLERANCE = 1e-4;

/**
 * Reads the body of every trajectory that counts: lengths agree, and every sampled token is masked in within exactly one
 * sample. Compared with the model calls as they were logged. Returns how many bodies were read.
 */
export async function checkBodies(
  run: RunIndex,
  store: BodyStore,
  counted: (attemptId: string) => Placed<'trajectory.recorded'> | undefined,
  findings: Findings,
): Promise<number> {
  const calls = groupBy(run.log.of('model.called'), ({ value }) => value.attempt_id);
  let read = 0;
  for (const attemptId of run.recorded.keys()) {
    const record = counted(attemptId);
    const ref = record?.value.body;
    if (!record || !ref) continue;
    let body: TrajectoryBody;
    try {
      body = decodeBody('trajectory.body', await store.get(ref));
    } catch (error) {
      const { code } = error as { code?: string };
      const message = error instanceof Error ? error.message : String(error);
      findings.violation('BODY_UNREADABLE', record, `${ref.key}: ${code ?? 'error'}: ${message}`);
      continue;
    }
    read += 1;
    checkBody(record, body, findings);
    const logged = calls.get(attemptId);
    if (!run.truncated('model.called')) checkCalls(record, body, logged ?? [], findings);
  }
  checkCallEpochs(run, findings);
  return read;
}

function checkBody(record: Placed<'trajectory.recorded'>, body: TrajectoryBody, findings: Findings): void {
  const { trajectory_id: id, attempt_id, counts } = record.value;
  const wrong = (message: string): void => findings.violation('BODY_CONTRADICTS', record, `${id}: ${message}`);
  if (body.trajectory_id !== id || body.attempt_id !== attempt_id) wrong(`its body is that of ${body.trajectory_id}`);
  if (body.samples.length !== counts.samples) wrong(`${body.samples.length} samples, counted ${counts.samples}`);
  if (body.calls.length !== counts.model_calls) wrong(`${body.calls.length} calls, counted ${counts.model_calls}`);
  let masked = 0;
  let realigned = 0;
  for (const sample of body.samples) {
    checkSample(sample, wrong);
    masked += maskedOf(sample.mask_runs);
    realigned += sample.realigned_tokens;
  }
  const sampled = body.calls.reduce((sum, call) => sum + call.output_tokens, 0);
  if (sampled !== counts.sampled_tokens) wrong(`${sampled} tokens sampled, counted ${counts.sampled_tokens}`);
  if (masked + realigned !== sampled)
    findings.violation(
      'TOKEN_USE',
      record,
      `${id}: ${sampled} tokens were sampled, ${masked} are masked in and ${realigned} realigned; each must be so once`,
    );
}

function checkSample(sample: TrainSample, wrong: (message: string) => void): void {
  const { sample_id: id, token_ids, logprobs, mask_runs, version_runs } = sample;
  if (logprobs.length !== token_ids.length) wrong(`${id}: ${token_ids.length} tokens, ${logprobs.length} log-probs`);
  if (mask_runs.some((run) => run < 0)) wrong(`${id}: a negative run in its mask`);
  const covered = mask_runs.reduce((sum, run) => sum + run, 0);
  if (covered !== token_ids.length) wrong(`${id}: ${token_ids.length} tokens, its mask covers ${covered}`);
  const versioned = version_runs.reduce((sum, run) => sum + run.length, 0);
  if (versioned !== maskedOf(mask_runs))
    wrong(`${id}: ${maskedOf(mask_runs)} tokens masked in, ${versioned} versioned`);
}

const maskedOf = (runs: readonly number[]): number =>
  runs.reduce((sum, run, index) => (index % 2 === 1 ? sum + run : sum), 0);

/** The body holds the calls that were logged, and its masked-in tokens are the sampled ones, no more and no others. */
function checkCalls(
  record: Placed<'trajectory.recorded'>,
  body: TrajectoryBody,
  logged: readonly Placed<'model.called'>[],
  findings: Findings,
): void {
  const { trajectory_id: id, epoch } = record.value;
  const byNo = new Map<number, Placed<'model.called'>>();
  for (const call of logged) {
    const { kind, call_no, epoch: at } = call.value;
    if (kind !== 'CALL' || at > epoch) continue;
    if (byNo.has(call_no)) findings.warning('CALL_REPEATED', call, `call ${call_no} of ${id} was logged before`);
    else byNo.set(call_no, call);
  }
  const inBody = new Set(body.calls.map((call) => call.call_no));
  for (const call of body.calls) {
    const source = byNo.get(call.call_no);
    if (!source)
      findings.violation('CALL_MISSING', record, `${id}: call ${call.call_no} is in its body, not in the log`);
    else if (
      source.value.failure === null &&
      source.value.body === null &&
      source.value.output_ids.length !== call.output_tokens
    )
      findings.violation(
        'CALL_DIFFERS',
        source,
        `${id}: call ${call.call_no} sampled ${source.value.output_ids.length}, in its body ${call.output_tokens}`,
      );
  }
  for (const [number, call] of byNo)
    if (!inBody.has(number)) findings.warning('CALL_UNUSED', call, `${id}: call ${number} is logged, not in its body`);
  const used = [...byNo.values()].filter(({ value }) => inBody.has(value.call_no) && value.failure === null);
  if (used.some(({ value }) => value.body !== null) || body.samples.some((sample) => sample.realigned_tokens > 0))
    return;
  const sampled = tokensOf(used.map(({ value }) => [value.output_ids, value.output_logprobs]));
  const trained = tokensOf(body.samples.map(maskedIn));
  const odd = [...new Set([...sampled.count.keys(), ...trained.count.keys()])].find(
    (token) => sampled.count.get(token) !== trained.count.get(token),
  );
  if (odd !== undefined)
    findings.violation(
      'TOKEN_USE',
      used[0] ?? record,
      `${id}: token ${odd} was sampled ${sampled.count.get(odd) ?? 0} times, is masked in ${trained.count.get(odd) ?? 0} times`,
    );
  if (Math.abs(sampled.logprob - trained.logprob) > LOGPROB_TOLERANCE * Math.max(1, Math.abs(sampled.logprob)))
    findings.violation('TOKEN_LOGPROBS', used[0] ?? record, `${id}: its log-probs are not those that were logged`);
}

function maskedIn(sample: TrainSample): readonly [Int32Array, Float32Array] {
  const ids: number[] = [];
  const logprobs: number[] = [];
  let at = 0;
  for (const [index, run] of sample.mask_runs.entries()) {
    if (index % 2 === 1) {
      ids.push(...sample.token_ids.subarray(at, at + run));
      logprobs.push(...sample.logprobs.subarray(at, at + run));
    }
    at += run;
  }
  return [Int32Array.from(ids), Float32Array.from(logprobs)];
}

function tokensOf(parts: readonly (readonly [Int32Array, Float32Array])[]): {
  readonly count: Map<number, number>;
  readonly logprob: number;
} {
  const count = new Map<number, number>();
  let logprob = 0;
  for (const [ids, logprobs] of parts) {
    for (const id of ids) count.set(id, (count.get(id) ?? 0) + 1);
    for (const value of logprobs) logprob += value;
  }
  return { count, logprob };
}

/** Model calls carry an epoch that was granted, and epochs never fall behind an adoption. */
function checkCallEpochs(run: RunIndex, findings: Findings): void {
  if (run.truncated('rollout.ruled')) return;
  for (const call of run.log.of('model.called')) {
    const { attempt_id, epoch, call_no } = call.value;
    if (!run.grants.get(attempt_id)?.some(({ value }) => value.epoch === epoch))
      findings.violation(
        'EPOCH_NOT_GRANTED',
        call,
        `${attempt_id}: call ${call_no} under epoch ${epoch}, never granted`,
      );
  }
}
