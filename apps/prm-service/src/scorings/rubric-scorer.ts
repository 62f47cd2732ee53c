import { decodeBody, DecodeError } from '@espalier/avro';
import type { ScoringRequested } from '@espalier/contracts';
import { ObjectStoreError, type ObjectStore } from '@espalier/objects';
import { rubricScore } from '@espalier/rewards';
import { askJudge, JudgeTimeoutError, JudgeUnavailableError, type JudgeEndpoint } from '../judge/judge-client.ts';
import { JudgementFormError } from '../judge/judgement.ts';
import { promptFor, type Reference } from '../judge/prompt.ts';
import { referenceOf } from '../judge/reference.ts';
import { rubrics, type RubricKey } from '../judge/rubrics.ts';
import { transcriptOf } from '../judge/transcript.ts';
import { parseScorerOptions, ScorerOptionsError } from './scorer-options.ts';
import { unscored, type Verdict } from './verdict.ts';

/** Left for producing the event before the group gives the scoring up. */
const MARGIN_MS = 2_000;

/** Judges trajectories by the seven rubrics. */
export class RubricScorer {
  readonly #objects: ObjectStore;
  readonly #endpoint: JudgeEndpoint | null;

  constructor(objects: ObjectStore, endpoint: JudgeEndpoint | null) {
    this.#objects = objects;
    this.#endpoint = endpoint;
  }

  /** Never throws but for the signal's reason: whatever goes wrong is a verdict without a score. */
  async score(request: ScoringRequested, signal: AbortSignal): Promise<Verdict> {
    try {
      return await this.#judge(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      return verdictOfError(error);
    }
  }

  async #judge(request: ScoringRequested, signal: AbortSignal): Promise<Verdict> {
    const endpoint = this.#endpoint;
    if (endpoint === null)
      return unscored(
        'SKIPPED',
        'JUDGE_NOT_CONFIGURED',
        'no judge endpoint is configured; set ESPALIER_JUDGE_URL',
        false,
      );
    if (request.body === null) return unscored('SKIPPED', 'NO_BODY', 'the trajectory recorded nothing to judge', false);
    const options = parseScorerOptions(request.config_json);
    const body = decodeBody('trajectory.body', await this.#objects.get(request.body));
    const transcript = transcriptOf(body, options.observations);
    const reference = options.reference ? await referenceOf(this.#objects, request.task.package) : null;
    const values = new Map<RubricKey, number>();
    const notes: string[] = [];
    let attempts = 0;
    for (const { asked, shown } of rounds(reference)) {
      const judgement = await askJudge(
        { ...endpoint, model: options.model ?? endpoint.model },
        promptFor(asked, body.instruction, transcript, shown),
        asked,
        {
          temperature: options.temperature,
          timeoutMs: options.timeout_ms,
          attempts: options.attempts,
          deadlineAt: request.deadline_at - MARGIN_MS,
          signal,
        },
      );
      attempts += judgement.attempts;
      for (const [key, value] of judgement.values) values.set(key, value);
      if (judgement.notes !== '') notes.push(judgement.notes);
    }
    return {
      status: 'OK',
      score: rubricScore(rubrics.map(({ key, weight }) => ({ value: values.get(key) ?? null, weight }))),
      failure: null,
      details: {
        rubrics: Object.fromEntries(rubrics.map(({ key }) => [key, values.get(key)])),
        notes,
        model: options.model ?? endpoint.model,
        attempts,
        observations: options.observations,
        reference: reference !== null,
      },
    };
  }
}

/**
 * What to ask together. With a reference there are two rounds: a judge cannot unsee it, so the rubrics that must not
 * know it are asked without.
 */
function rounds(reference: Reference | null): { asked: typeof rubrics; shown: Reference | null }[] {
  if (reference === null) return [{ asked: rubrics, shown: null }];
  return [
    { asked: rubrics.filter(({ seesReference }) => !seesReference), shown: null },
    { asked: rubrics.filter(({ seesReference }) => seesReference), shown: reference },
  ];
}

/** The verdict of an error: a score is never made up. */
export function verdictOfError(error: unknown): Verdict {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof JudgementFormError) return unscored('INVALID', error.code, message, true);
  if (error instanceof JudgeTimeoutError) return unscored('TIMEOUT', error.code, message, true);
  if (error instanceof JudgeUnavailableError) return unscored('INFRA_ERROR', error.code, message, error.retryable);
  if (error instanceof ScorerOptionsError) return unscored('INFRA_ERROR', error.code, message, false);
  if (error instanceof ObjectStoreError) return unscored('INFRA_ERROR', error.code, message, error.retryable);
  if (error instanceof DecodeError) return unscored('INFRA_ERROR', 'BODY_UNREADABLE', message, false);
  return unscored('INFRA_ERROR', 'SCORER_CRASH', message, true);
}
