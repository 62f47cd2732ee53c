import type { EventMap, TopicName } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { RunView, VIEW_TOPICS, type ViewEvent } from '../run-view/run-view.ts';

/** A decoded event of a topic with its place. */
export interface LogEvent<T extends TopicName> {
  readonly partition: number;
  readonly offset: number;
  readonly value: EventMap[T];
}

/** Every readable event of a topic that belongs to `runId` (all runs: null), up to the end as it is now. */
export async function* eventsOf<T extends TopicName>(
  kafka: KafkaPort,
  topic: T,
  runId: string | null,
): AsyncIterable<LogEvent<T>> {
  const reader = kafka.reader();
  try {
    for await (const { partition, offset, value } of reader.readAll<T>(topic))
      if (value !== null && (runId === null || value.run_id === runId)) yield { partition, offset, value };
  } finally {
    await reader.close();
  }
}

/** The view of a run as the log has it now. */
export async function readRunView(kafka: KafkaPort, runId: string): Promise<RunView> {
  const view = new RunView(runId);
  for (const topic of VIEW_TOPICS)
    for await (const { value } of eventsOf(kafka, topic, runId)) view.apply({ topic, value } as ViewEvent);
  return view;
}

/** A run as `run list` shows it. */
export interface RunSummary {
  readonly run_id: string;
  readonly state: string;
  readonly submitted_at: number | null;
  readonly submitted_by: string | null;
  readonly purpose: string | null;
  readonly attempts_ended: number;
  readonly batches_trained: number;
  readonly pass_rate: number | null;
  readonly ended: boolean;
  readonly message: string;
}

/** Every run that the log knows, oldest first. */
export async function readRuns(kafka: KafkaPort): Promise<RunSummary[]> {
  const runs = new Map<string, RunSummary>();
  const update = (runId: string | null, change: Partial<RunSummary>): void => {
    if (runId === null) return;
    const known = runs.get(runId) ?? {
      ...{ run_id: runId, state: 'UNKNOWN', submitted_at: null, submitted_by: null, purpose: null, attempts_ended: 0 },
      ...{ batches_trained: 0, pass_rate: null, ended: false, message: '' },
    };
    runs.set(runId, { ...known, ...change });
  };
  for await (const { value } of eventsOf(kafka, 'run.submitted', null)) {
    if (value.run_id !== null && runs.has(value.run_id)) continue;
    const { occurred_at: submitted_at, submitted_by, config } = value;
    update(value.run_id, { submitted_at, submitted_by, purpose: config.purpose });
  }
  for await (const { value } of eventsOf(kafka, 'run.reported', null)) {
    const { run_id, state, kind, progress, trained_seq, message } = value;
    if (state === 'REFUSED' && (run_id === null || (runs.get(run_id)?.state ?? 'UNKNOWN') !== 'UNKNOWN')) continue;
    update(run_id, {
      state,
      ...(kind === 'ENDED' ? { ended: true } : {}),
      ...(message === '' ? {} : { message }),
      ...(trained_seq === null ? {} : { batches_trained: trained_seq }),
      ...(progress ? { attempts_ended: progress.attempts_ended, pass_rate: progress.pass_rate } : {}),
    });
  }
  return [...runs.values()].sort((left, right) => (left.submitted_at ?? 0) - (right.submitted_at ?? 0));
}
