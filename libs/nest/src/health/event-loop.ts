/** Watches that the event loop turns: a timer notes the time, a probe asks how old the note is. */
export class EventLoopWatch {
  readonly #intervalMs: number;
  #at = Date.now();
  #worstMs = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(intervalMs = 500) {
    this.#intervalMs = intervalMs;
    this.#timer = setInterval(() => {
      const now = Date.now();
      this.#worstMs = Math.max(0, now - this.#at - this.#intervalMs);
      this.#at = now;
    }, intervalMs);
    this.#timer.unref();
  }

  /** How late the last turn was, milliseconds. */
  lagMs(): number {
    return Math.max(this.#worstMs, Date.now() - this.#at - this.#intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
