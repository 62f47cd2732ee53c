import type { Metrics } from '@espalier/nest';
import type { ScoringObserver } from '../scorings/scoring-ports.ts';

const LATENCY_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Counts scorings. `inFlight` is read at every scrape. */
export function scoringMetrics(metrics: Metrics, inFlight: () => number): ScoringObserver {
  const scorings = metrics.counter({
    name: 'espalier_scorings_total',
    help: 'Scorings by status; code is the failure code, empty without one.',
    labelNames: ['status', 'code'],
  });
  const latency = metrics.histogram({
    name: 'espalier_scoring_seconds',
    help: 'Time from the grant to the verdict.',
    buckets: LATENCY_SECONDS,
  });
  metrics.gauge({
    name: 'espalier_scorings_in_flight',
    help: 'Scorings in hand.',
    collect() {
      this.set(inFlight());
    },
  });
  return {
    scored: (status, code, latencyMs) => {
      scorings.inc({ status, code });
      latency.observe(latencyMs / 1_000);
    },
  };
}
