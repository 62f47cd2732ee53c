import type { BatchingProducer } from '../produce/batching-producer.ts';
import type { WorkTopic } from '../work-port.ts';
import { HOPS_HEADER, type WaitingRequest } from './requests.ts';

/** Each hop doubles the patience, up to this factor: when every worker is busy, requests should not circle fast. */
const MAX_PATIENCE = 16;

/** Whether a request has waited here long enough to try another partition. Never while one worker holds them all. */
export function redirectDue<T extends WorkTopic>(
  entry: WaitingRequest<T>,
  redirectMs: number,
  ownPartitions: number,
  partitions: number,
): boolean {
  if (entry.redirecting || ownPartitions >= partitions) return false;
  return Date.now() - entry.since > redirectMs * Math.min(2 ** entry.hops, MAX_PATIENCE);
}

/** Stores the request in a partition of another worker, hop count raised. Its caller then marks the original done. */
export async function redirect<T extends WorkTopic>(
  sender: BatchingProducer,
  { record, hops }: WaitingRequest<T>,
  own: ReadonlySet<number>,
  partitions: number,
): Promise<void> {
  const others = Array.from({ length: partitions }, (_, partition) => partition).filter(
    (partition) => !own.has(partition),
  );
  const target = others[(record.offset + hops) % others.length];
  if (target === undefined) return;
  await sender.send({
    topic: record.topic,
    key: record.key,
    value: record.value,
    headers: { ...record.headers, [HOPS_HEADER]: String(hops + 1) },
    partition: target,
  });
}
