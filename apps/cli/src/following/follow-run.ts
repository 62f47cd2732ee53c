import type { KafkaPort } from '@espalier/kafka';
import { serviceLags } from '../plane-access/service-lag.ts';
import type { ServiceLag } from '../run-view/render.ts';
import { VIEW_TOPICS, type RunView } from '../run-view/run-view.ts';
import type { RunDisplay } from './display.ts';

/** Why following ended. */
export type FollowEnd = 'ended' | 'interrupted';

const TICK_MS = 400;
const LAG_EVERY_MS = 3_000;

/**
 * Follows a run from its first event until its end is reported or `signal` aborts. `view` is folded from everything; the
 * display is told of it. Lag is shown where it can be read, and left out where not.
 */
export async function followRun(
  kafka: KafkaPort,
  view: RunView,
  display: RunDisplay,
  signal: AbortSignal,
): Promise<FollowEnd> {
  let lags: readonly ServiceLag[] = [];
  let fresh = false;
  const over = Promise.withResolvers<FollowEnd>();
  const consumer = kafka.broadcast({
    topics: VIEW_TOPICS,
    from: 'earliest',
    handler: (event) => {
      if (event.value.run_id !== view.runId) return;
      view.apply(event);
      display.event(event, event.context, fresh);
      if (fresh && view.snapshot().ended) over.resolve('ended');
    },
  });
  const interrupt = (): void => over.resolve('interrupted');
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  const ticker = setInterval(() => {
    if (fresh) display.tick(Date.now(), lags);
  }, TICK_MS);
  const lagging = new LagPoll(kafka, (found) => (lags = found));
  try {
    await consumer.start();
    await Promise.race([consumer.caughtUp(), over.promise]);
    fresh = true;
    lagging.start();
    if (view.snapshot().ended) over.resolve('ended');
    const end = await over.promise;
    // What was decided together with the end lies on other topics.
    if (end === 'ended') await consumer.caughtUp();
    return end;
  } finally {
    clearInterval(ticker);
    signal.removeEventListener('abort', interrupt);
    lagging.stop();
    await consumer.stop();
    display.finish(Date.now(), view.snapshot().ended ? [] : lags);
  }
}

/** Reads the lag again and again, one reading at a time. */
class LagPoll {
  readonly #kafka: KafkaPort;
  readonly #found: (lags: ServiceLag[]) => void;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;

  constructor(kafka: KafkaPort, found: (lags: ServiceLag[]) => void) {
    this.#kafka = kafka;
    this.#found = found;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#read(), LAG_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      this.#found(await serviceLags(this.#kafka));
    } catch {
      // A broker that is away for a moment: the next reading will tell.
      this.#found([]);
    } finally {
      this.#reading = false;
    }
  }
}
