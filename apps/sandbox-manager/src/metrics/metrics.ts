import { Metrics } from '@espalier/nest';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Metrics of the manager. No label has a value per sandbox. */
export class ManagerMetrics {
  readonly all = new Metrics('sandbox-manager');
  readonly sandboxes = this.all.gauge({ name: 'espalier_sandboxes', help: 'Sandboxes known to this manager.' });
  readonly ready = this.all.histogram({
    name: 'espalier_sandbox_ready_seconds',
    help: 'From the request to an answering agent.',
    buckets: SECONDS,
  });
  readonly failures = this.all.counter({
    name: 'espalier_sandbox_failures_total',
    help: 'Sandboxes that failed, by code.',
    labelNames: ['code'],
  });
  readonly jobs = this.all.counter({
    name: 'espalier_sandbox_jobs_total',
    help: 'Finished commands, by how they ended.',
    labelNames: ['state'],
  });
  readonly jobSeconds = this.all.histogram({
    name: 'espalier_sandbox_job_seconds',
    help: 'From acceptance to the end of a command.',
    buckets: SECONDS,
  });
  readonly eventsLost = this.all.counter({
    name: 'espalier_sandbox_events_lost_total',
    help: 'sandbox.reported events that could not be produced.',
  });
}
