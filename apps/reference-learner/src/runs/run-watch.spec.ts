import type { RunReported, RunSubmitted } from '@espalier/contracts';
import { describe, expect, it } from 'vitest';
import { LearnerService } from '../learner/learner.service.ts';
import { RunWatch } from './run-watch.ts';

const log = { info: () => undefined, warn: () => undefined };

const submitted = (runId: string, at: number, model = 'reference', purpose: 'TRAIN' | 'EVAL' = 'TRAIN'): RunSubmitted =>
  ({
    run_id: runId,
    occurred_at: at,
    config: { purpose, policy: { model, temperature: 0.7 }, batch: { batches_per_version: 2 } },
  }) as RunSubmitted;

const reported = (runId: string, state: RunReported['state'], code: string | null = null): RunReported =>
  ({ run_id: runId, state, code }) as RunReported;

describe('run watch', () => {
  it('gives the newest training run of the model that has not ended, whichever event comes first', () => {
    const runs = new RunWatch('reference');
    runs.onReported(reported('a', 'ACTIVE'));
    expect(runs.current()).toBeNull();
    runs.onSubmitted(submitted('a', 1));
    expect(runs.current()).toBe('a');
    runs.onSubmitted(submitted('b', 2));
    expect(runs.current()).toBe('a');
    runs.onReported(reported('b', 'ACTIVE'));
    expect(runs.current()).toBe('b');
    for (const [id, model, purpose] of [
      ['c', 'other', 'TRAIN'],
      ['d', 'reference', 'EVAL'],
    ] as const) {
      runs.onSubmitted(submitted(id, 3, model, purpose));
      runs.onReported(reported(id, 'ACTIVE'));
    }
    expect(runs.current()).toBe('b');
    runs.onReported(reported('b', 'COMPLETED'));
    expect(runs.current()).toBe('a');
    runs.finish('a');
    expect(runs.current()).toBeNull();
  });

  it('keeps the first submission, and is not moved by the refusal of a second', () => {
    const runs = new RunWatch('reference');
    runs.onSubmitted(submitted('a', 1));
    runs.onReported(reported('a', 'ACTIVE'));
    runs.onSubmitted(submitted('a', 2, 'other'));
    runs.onReported(reported('a', 'REFUSED', 'RUN_DIFFERS'));
    expect(runs.current()).toBe('a');
    expect(runs.batchesPerVersion('a')).toBe(2);
    expect(runs.temperature('a')).toBe(0.7);
  });
});

describe('learner service', () => {
  it('puts a run aside for a newer one, takes it up again, and stops when told', async () => {
    const runs = new RunWatch('reference');
    const events: string[] = [];
    let wake: (() => void) | undefined;
    const happened = async (count: number): Promise<void> => {
      while (events.length < count) await new Promise<void>((resolve) => (wake = resolve));
    };
    const note = (event: string): void => {
      events.push(event);
      wake?.();
    };
    let end: (() => void) | undefined;
    const service = new LearnerService(
      runs,
      (runId, stop) =>
        new Promise((resolve, reject) => {
          note(`serve ${runId}`);
          end = resolve;
          stop.addEventListener('abort', () => {
            note(`leave ${runId}`);
            reject(stop.reason as Error);
          });
        }),
      null,
      log,
    );
    service.start();
    runs.onSubmitted(submitted('a', 1));
    runs.onReported(reported('a', 'ACTIVE'));
    await happened(1);
    runs.onSubmitted(submitted('b', 2));
    runs.onReported(reported('b', 'ACTIVE'));
    await happened(3);
    expect(events).toEqual(['serve a', 'leave a', 'serve b']);
    end?.();
    await happened(4);
    expect(events.at(-1)).toBe('serve a');
    await service.stop();
    expect(events.at(-1)).toBe('leave a');
  });

  it('leaves a run alone that refused it', async () => {
    const runs = new RunWatch('reference');
    let served = 0;
    const service = new LearnerService(runs, () => Promise.reject(new Error(`refused ${++served}`)), null, log);
    runs.onSubmitted(submitted('a', 1));
    runs.onReported(reported('a', 'ACTIVE'));
    service.start();
    while (runs.current() !== null) await new Promise((resolve) => setImmediate(resolve));
    await service.stop();
    expect(served).toBe(1);
  });
});
