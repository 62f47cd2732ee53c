import type { KafkaPort } from '@espalier/kafka';
import { now, pause } from '../measure/clock.ts';

/** What {@link kafkaHop} measures. */
export const KAFKA_HOP =
  'one plain produce (acks all, 8 kB) until a consumer has it, nothing else going on in the plane';

const BODY = 'x'.repeat(8_000);

/**
 * Milliseconds from the broker's acknowledgement of a plain event until a consumer of this process has it, and from the
 * call of `send` until then; one event at a time.
 */
export async function kafkaHop(kafka: KafkaPort, count: number): Promise<{ afterAck: number[]; whole: number[] }> {
  const arrivals = new Map<string, (at: number) => void>();
  const consumer = kafka.broadcast({
    topics: ['ranking.decided'],
    from: 'latest',
    handler: ({ value }) => arrivals.get(value.event_id)?.(now()),
  });
  await consumer.start();
  const producer = kafka.producer('floor');
  const afterAck: number[] = [];
  const whole: number[] = [];
  try {
    for (let index = -10; index < count; index += 1) {
      const eventId = `floor-${process.pid}-${now()}-${index}`;
      const arrived = new Promise<number>((resolve) => arrivals.set(eventId, resolve));
      const begun = now();
      await producer.send(
        'ranking.decided',
        {
          run_id: 'floor',
          group_id: `floor/task/${index + 10}`,
          task_id: 'task',
          model_version: 0,
          model_digest: BODY,
          ranked: [],
        },
        { eventId },
      );
      const acknowledged = now();
      const at = await arrived;
      arrivals.delete(eventId);
      // The first few connect and warm up.
      if (index < 0) continue;
      afterAck.push(Math.max(0, at - acknowledged));
      whole.push(at - begun);
      await pause(5);
    }
  } finally {
    await consumer.stop();
  }
  return { afterAck, whole };
}
