import type { RunReported } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { CliError, EXIT } from '../errors.ts';

const VERDICT_MS = 20_000;

/**
 * Sends something and waits for the report that answers it. Listens before it sends. Throws `CLI_NO_VERDICT` after
 * `timeoutMs` (default 20 s).
 */
export async function awaitReport(
  kafka: KafkaPort,
  matches: (report: RunReported) => boolean,
  send: () => Promise<unknown>,
  timeoutMs = VERDICT_MS,
): Promise<RunReported> {
  const found = Promise.withResolvers<RunReported>();
  const consumer = kafka.broadcast({
    topics: ['run.reported'],
    from: 'latest',
    handler: ({ value }) => {
      if (matches(value)) found.resolve(value);
    },
  });
  const timer = setTimeout(
    () =>
      found.reject(
        new CliError(
          'CLI_NO_VERDICT',
          `no answer within ${timeoutMs / 1_000} s; it may still come. Is the trainer-gateway up ("espalier status")?`,
          EXIT.unavailable,
        ),
      ),
    timeoutMs,
  );
  try {
    await consumer.start();
    await send();
    return await found.promise;
  } finally {
    clearTimeout(timer);
    await consumer.stop();
  }
}
