import { parseId } from '@espalier/contracts';
import type { AssignedPartition } from '../consume/group-streams.ts';
import type { RawRecord } from '../port.ts';
import { derivedId } from '../produce/derived-id.ts';
import type { EventOf, WorkTopic } from '../work-port.ts';
import type { ClaimSubject } from './held-claim.ts';

/** Header that counts how often a request was handed to another partition. */
export const HOPS_HEADER = 'x-hops';

/** A request that waits for a slot. */
export interface WaitingRequest<T extends WorkTopic> {
  readonly request: EventOf<T>;
  readonly record: RawRecord;
  readonly assigned: AssignedPartition;
  readonly done: () => void;
  readonly since: number;
  readonly hops: number;
  redirecting: boolean;
}

/** Whether a request adopts a running attempt: those go first, their harness is waiting. */
export const isAdoption = (request: EventOf<WorkTopic>): boolean => 'kind' in request && request.kind === 'ADOPT';

/** The subject of a claim on a request. Equal for the same worker and the same record of the log. */
export function subjectOf<T extends WorkTopic>(
  { request, record }: { request: EventOf<T>; record: RawRecord },
  workerId: string,
  work: 'ROLLOUT' | 'SCORING',
): ClaimSubject {
  const workId = 'work_id' in request ? request.work_id : request.attempt_id;
  return {
    workId,
    groupId: request.group_id,
    attemptId: request.attempt_id,
    runId: request.run_id ?? runOf(request.group_id),
    claimId: derivedId('claim', workerId, workId, record.topic, record.partition, record.offset),
    workerId,
    work,
  };
}

function runOf(groupId: string): string | null {
  try {
    return parseId(groupId).runId;
  } catch {
    return null;
  }
}

/** Takes the next request to claim: adoptions first, then the oldest. */
export function takeNext<T extends WorkTopic>(waiting: WaitingRequest<T>[]): WaitingRequest<T> | undefined {
  let best = -1;
  waiting.forEach((entry, index) => {
    if (entry.redirecting) return;
    const current = waiting[best];
    if (current === undefined) best = index;
    else if (isAdoption(entry.request) !== isAdoption(current.request)) best = isAdoption(entry.request) ? index : best;
    else if (entry.record.timestamp < current.record.timestamp) best = index;
  });
  return best < 0 ? undefined : waiting.splice(best, 1)[0];
}
