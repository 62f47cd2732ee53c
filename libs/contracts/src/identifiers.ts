/** Path-like identifiers, derived from their inputs so that a replay gives the same ones (docs/architecture.md). */

/** A run id: chosen by its user. */
export const RUN_ID = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** A task id: unique in its run; no slash, since group ids are paths. */
export const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Thrown when an identifier does not have its form. */
export class IdentifierError extends Error {
  readonly code = 'IDENTIFIER_INVALID';
  readonly retryable = false;
}

export const groupIdFor = (runId: string, taskId: string, admission: number): string =>
  `${runId}/${taskId}/${admission}`;
export const rolloutIdFor = (groupId: string, index: number): string => `${groupId}/r${index}`;
export const attemptIdFor = (rolloutId: string, attemptNo: number): string => `${rolloutId}/a${attemptNo}`;
export const trajectoryIdFor = (attemptId: string): string => `${attemptId}/t`;
export const sampleIdFor = (trajectoryId: string, index: number): string => `${trajectoryId}/s${index}`;
export const callIdFor = (attemptId: string, callNo: number): string => `${attemptId}/c${callNo}`;
export const batchIdFor = (runId: string, seq: number): string => `${runId}/batch/${seq}`;
export const scoringIdFor = (trajectoryId: string, scorer: string, version: string, round: number): string =>
  `${trajectoryId}/${scorer}@${version}#${round}`;

/** The parts of a group, rollout, attempt, trajectory or scoring id. */
export interface IdPath {
  readonly runId: string;
  readonly taskId: string;
  readonly admission: number;
  readonly groupId: string;
  readonly rolloutIndex?: number;
  readonly attemptNo?: number;
}

const PATH = /^([^/]+)\/([^/]+)\/(\d+)(?:\/r(\d+)(?:\/a(\d+)(?:\/.*)?)?)?$/;

/** Splits a path-like id. Throws {@link IdentifierError} when it has another form. */
export function parseId(id: string): IdPath {
  const match = PATH.exec(id);
  if (!match) throw new IdentifierError(`"${id}" is not a group, rollout, attempt or trajectory id`);
  const [, runId = '', taskId = '', admission = '0', rollout, attempt] = match;
  return {
    runId,
    taskId,
    admission: Number(admission),
    groupId: groupIdFor(runId, taskId, Number(admission)),
    ...(rollout === undefined ? {} : { rolloutIndex: Number(rollout) }),
    ...(attempt === undefined ? {} : { attemptNo: Number(attempt) }),
  };
}
