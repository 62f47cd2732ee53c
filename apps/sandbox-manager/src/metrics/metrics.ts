import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Metrics of the manager. No label has a value per sandbox. */
export class ManagerMetrics {
  readonly registry = new Registry();
  readonly sandboxes = new Gauge({
    name: 'espalier_sandboxes',
    help: 'Sandboxes known to this manager',
    registers: [this.registry],
  });
  readonly ready = new Histogram({
    name: 'espalier_sandbox_ready_seconds',
    help: 'From the request to an answering agent',
    buckets: SECONDS,
    registers: [this.registry],
  });
  readonly failures = new Counter({
    name: 'espalier_sandbox_failures_total',
    help: 'Sandboxes that failed, by code',
    labelNames: ['code'],
    registers: [this.registry],
  });
  readonly jobs = new Counter({
    name: 'espalier_sandbox_jobs_total',
    help: 'Finished commands, by how they ended',
    labelNames: ['state'],
    registers: [this.registry],
  });
  readonly jobSeconds = new Histogram({
    name: 'espalier_sandbox_job_seconds',
    help: 'From acceptance to the end of a command',
    buckets: SECONDS,
    registers: [this.registry],
  });
  readonly eventsLost = new Counter({
    name: 'espalier_sandbox_events_lost_total',
    help: 'sandbox.reported events that could not be produced',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }
}
