import { IdentifierError, parseId, type RewardReportedBody } from '@espalier/contracts';
import type { RawRecord } from '@espalier/kafka';
import { rewardReported, unscored } from './verdict.ts';

/** The scorer that this service is; requests for others belong to other services. */
export const SCORER = 'rubric';

const WORK_ID = /^(.+\/t)\/([^/@]+)@([^#]*)#\d+$/;

/**
 * The verdict on a request that does not decode, by the ids in its headers; null when they are damaged too, or name a
 * scorer of another service.
 */
export function undecodableReward(record: RawRecord, error: Error, workerId: string): RewardReportedBody | null {
  const workId = record.headers['x-work-id'] ?? '';
  const [, trajectoryId, scorer, version] = WORK_ID.exec(workId) ?? [];
  if (trajectoryId === undefined || scorer !== SCORER || version === undefined) return null;
  try {
    const { runId, groupId } = parseId(trajectoryId);
    return rewardReported(
      {
        run_id: runId,
        group_id: groupId,
        attempt_id: trajectoryId.slice(0, -'/t'.length),
        trajectory_id: trajectoryId,
        work_id: workId,
        scorer,
        scorer_version: version,
        required: true,
      },
      { workerId, claimId: `dead/${record.topic}/${record.partition}/${record.offset}`, epoch: 0 },
      unscored('INFRA_ERROR', 'REQUEST_UNDECODABLE', error.message, false),
      0,
    );
  } catch (problem) {
    if (problem instanceof IdentifierError) return null;
    throw problem;
  }
}
