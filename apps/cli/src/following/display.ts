import type { CommandContext } from '../commands/command-context.ts';
import { toJson } from '../output/printer.ts';
import { renderLine, renderRun, type ServiceLag } from '../run-view/render.ts';
import type { RunView, ViewEvent } from '../run-view/run-view.ts';

/** Shows a run while it goes on. */
export interface RunDisplay {
  /** An event of the run; `fresh`: it happened after the display began. */
  event(event: ViewEvent, place: { readonly partition: number; readonly offset: number }, fresh: boolean): void;
  /** Called a few times a second. */
  tick(now: number, lags: readonly ServiceLag[]): void;
  /** Last call: leaves the final state on the screen. */
  finish(now: number, lags: readonly ServiceLag[]): void;
}

/** How a run is to be shown. */
export type DisplayKind = 'live' | 'plain' | 'json';

/** Live on a terminal, lines elsewhere or with `--plain`, events with `--json`. */
export function displayKind({ config, stdout }: CommandContext, plain: boolean): DisplayKind {
  if (config.json) return 'json';
  return plain || stdout.isTTY !== true ? 'plain' : 'live';
}

export function displayOf(kind: DisplayKind, view: RunView, stdout: CommandContext['stdout']): RunDisplay {
  switch (kind) {
    case 'live':
      return new LiveDisplay(view, stdout);
    case 'plain':
      return new PlainDisplay(view, stdout);
    case 'json':
      return new JsonDisplay(stdout);
  }
}

const ESCAPE = '\u001b[';

/** Redraws the state of the run in place. */
class LiveDisplay implements RunDisplay {
  readonly #view: RunView;
  readonly #stdout: CommandContext['stdout'];
  #drawn = 0;

  constructor(view: RunView, stdout: CommandContext['stdout']) {
    this.#view = view;
    this.#stdout = stdout;
  }

  event(): void {
    // Drawn at the next tick: many events a second are one picture.
  }

  tick(now: number, lags: readonly ServiceLag[]): void {
    const width = this.#stdout.columns ?? 100;
    const lines = renderRun(this.#view.snapshot(), this.#view.points, lags, now, width);
    const up = this.#drawn > 0 ? `${ESCAPE}${this.#drawn}A` : '';
    // Each line is cut to the terminal: a wrapped one would make the next picture begin in the wrong place.
    const body = lines.map((line) => `${[...line].slice(0, width - 1).join('')}${ESCAPE}K\n`).join('');
    this.#stdout.write(`${up}\r${body}${ESCAPE}J`);
    this.#drawn = lines.length;
  }

  finish(now: number, lags: readonly ServiceLag[]): void {
    this.tick(now, lags);
  }
}

const LINE_EVERY_MS = 5_000;

/** A line every few seconds, and one at each batch. */
class PlainDisplay implements RunDisplay {
  readonly #view: RunView;
  readonly #stdout: CommandContext['stdout'];
  #lastLine = 0;
  #lastText = '';
  #batches = '';

  constructor(view: RunView, stdout: CommandContext['stdout']) {
    this.#view = view;
    this.#stdout = stdout;
  }

  event(event: ViewEvent, _place: unknown, fresh: boolean): void {
    if (!fresh) return;
    const { offered, trained } = this.#view.snapshot().batches;
    const batches = `${offered}/${trained}`;
    if ((event.topic === 'batch.offered' || event.topic === 'run.reported') && batches !== this.#batches) {
      this.#batches = batches;
      this.#line(event.value.occurred_at);
    }
    if (event.topic === 'run.reported' && event.value.kind === 'BREAKER')
      this.#stdout.write(`paused: ${event.value.message}\n`);
  }

  tick(now: number): void {
    if (now - this.#lastLine >= LINE_EVERY_MS) this.#line(now);
  }

  finish(now: number): void {
    this.#line(now);
  }

  #line(at: number): void {
    // An event carries the clock of its producer, and comes a little later: time does not go back for that.
    const now = Math.max(at, this.#lastLine);
    this.#lastLine = now;
    const text = renderLine(this.#view.snapshot(), now);
    if (text !== this.#lastText) this.#stdout.write(`${text}\n`);
    this.#lastText = text;
  }
}

/** Every event of the run as one line of JSON. */
class JsonDisplay implements RunDisplay {
  readonly #stdout: CommandContext['stdout'];

  constructor(stdout: CommandContext['stdout']) {
    this.#stdout = stdout;
  }

  event(event: ViewEvent, { partition, offset }: { readonly partition: number; readonly offset: number }): void {
    this.#stdout.write(`${toJson({ topic: event.topic, partition, offset, event: event.value })}\n`);
  }

  tick(): void {
    // Events speak for themselves.
  }

  finish(): void {
    // The command prints a summary.
  }
}
