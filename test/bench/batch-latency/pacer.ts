import { now, pause } from '../measure/clock.ts';

/** Lets callers through at a steady rate; one that comes late is let through at once, and nothing is caught up on. */
export class Pacer {
  #perSecond = Number.POSITIVE_INFINITY;
  #next = 0;

  /** Callers a second; infinite lets everybody through. */
  set perSecond(rate: number) {
    this.#perSecond = rate;
    this.#next = 0;
  }

  async pass(): Promise<void> {
    if (!Number.isFinite(this.#perSecond)) return;
    const at = Math.max(now(), this.#next);
    this.#next = at + 1000 / this.#perSecond;
    const wait = at - now();
    if (wait > 1) await pause(wait);
  }
}
