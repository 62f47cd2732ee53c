import { setTimeout as sleep } from 'node:timers/promises';
import type { TrajectoryRecordedBody } from '@espalier/contracts';
import type { EventProducer } from '@espalier/kafka';

/** When to stop trying. */
export interface SendLimits {
  /** Milliseconds UTC. */
  readonly deadlineAt: number;
  /** The claim is another's meanwhile. */
  readonly isLost: () => boolean;
}

/** Sends the terminal record until it is stored or nobody wants it any more; throws what the producer throws for good. */
export async function sendRecorded(
  producer: Pick<EventProducer, 'send'>,
  event: TrajectoryRecordedBody,
  { deadlineAt, isLost }: SendLimits,
): Promise<void> {
  for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
    try {
      await producer.send('trajectory.recorded', event);
      return;
    } catch (error) {
      const retryable = (error as { retryable?: unknown } | null)?.retryable === true;
      if (!retryable || Date.now() > deadlineAt) throw error;
      if (isLost()) return;
      await sleep(wait);
    }
  }
}
