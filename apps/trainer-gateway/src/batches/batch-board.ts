import type { BatchOffered, RunReported } from '@espalier/contracts';

/**
 * Offered batches that are not acknowledged yet, by run and number. Manifests and reports come from two topics without an
 * order between them; a learner session's epoch in both says which is newer.
 */
export class BatchBoard {
  private readonly runs = new Map<string, Map<number, BatchOffered>>();
  private readonly waiters = new Map<string, Set<() => void>>();

  onOffered(event: BatchOffered): void {
    const runId = event.run_id ?? '';
    const batches = this.runs.get(runId) ?? new Map<number, BatchOffered>();
    this.runs.set(runId, batches);
    const known = batches.get(event.seq);
    if (!known || known.learner_epoch <= event.learner_epoch) batches.set(event.seq, event);
    this.wake(runId);
  }

  /** Drops what a session has acknowledged; a later session gets its batches offered anew. */
  onReported(event: RunReported): void {
    const runId = event.run_id ?? '';
    if (event.kind === 'TRAINED' && event.accepted === true)
      for (const [seq, batch] of this.runs.get(runId) ?? [])
        if (seq <= (event.trained_seq ?? 0) && batch.learner_epoch <= (event.learner_epoch ?? 0))
          this.runs.get(runId)?.delete(seq);
    if (event.kind === 'ENDED' || event.kind === 'LEARNER') this.wake(runId);
  }

  get(runId: string, seq: number): BatchOffered | undefined {
    return this.runs.get(runId)?.get(seq);
  }

  /** Resolves when something about the run may have changed, at the latest after `waitMs` or when `signal` aborts. */
  changed(runId: string, waitMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        const set = this.waiters.get(runId);
        set?.delete(done);
        if (set?.size === 0) this.waiters.delete(runId);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      signal?.addEventListener('abort', done, { once: true });
      this.waiters.set(runId, (this.waiters.get(runId) ?? new Set()).add(done));
    });
  }

  private wake(runId: string): void {
    for (const waiter of [...(this.waiters.get(runId) ?? [])]) waiter();
  }
}
