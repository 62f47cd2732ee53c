import type { Metrics } from '@espalier/nest';
import type { RolloutObserver } from '../rollouts/rollout-ports.ts';

const LATENCY_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Counts rollouts and model calls. `inFlight` is read at every scrape. */
export function rolloutMetrics(metrics: Metrics, inFlight: () => number): RolloutObserver {
  const rollouts = metrics.counter({
    name: 'espalier_rollouts_total',
    help: 'Rollouts by how they ended; code is the failure code, empty without one.',
    labelNames: ['status', 'code'],
  });
  const calls = metrics.counter({
    name: 'espalier_model_calls_total',
    help: 'Model calls answered by the policy (code empty) or failed.',
    labelNames: ['code'],
  });
  const latency = metrics.histogram({
    name: 'espalier_model_call_seconds',
    help: 'Upstream time of a model call, absorbed retries included.',
    buckets: LATENCY_SECONDS,
  });
  const absorbed = metrics.counter({
    name: 'espalier_model_retries_total',
    help: 'Upstream failures absorbed by another try.',
    labelNames: ['code'],
  });
  const replayed = metrics.counter({
    name: 'espalier_model_replays_total',
    help: 'Model calls answered from their record.',
  });
  metrics.gauge({
    name: 'espalier_rollouts_in_flight',
    help: 'Rollouts in hand.',
    collect() {
      this.set(inFlight());
    },
  });
  return {
    ended: (status, code) => rollouts.inc({ status, code }),
    called: ({ code, latencyMs }) => {
      calls.inc({ code: code ?? '' });
      latency.observe(latencyMs / 1_000);
    },
    absorbed: (code) => absorbed.inc({ code }),
    replayed: () => replayed.inc(),
  };
}
