import { randomUUID } from 'node:crypto';
import type { EventBodyMap } from '@espalier/contracts';
import type { EventProducer } from '@espalier/kafka';
import { hasEnded, type CommandVerdict, type RunBoard } from '../runs/run-board.ts';
import { ApiError, runUnknown, statusOf } from './api-error.ts';

/** Topics whose events are answered by a verdict in run.reported. */
export type CommandTopic = 'run.commanded' | 'learner.joined' | 'batch.trained' | 'policy.published';

/** What an HTTP command came to: a verdict, or still on its way. */
export type CommandResult =
  | { readonly kind: 'settled'; readonly verdict: CommandVerdict }
  | { readonly kind: 'pending'; readonly commandId: string };

/**
 * HTTP commands become events first; state changes by events alone. The answer waits for the verdict in run.reported, and
 * points to a status URL when it takes longer.
 */
export class Commands {
  private readonly board: RunBoard;
  private readonly producer: EventProducer;
  private readonly waitMs: number;

  constructor(board: RunBoard, producer: EventProducer, waitMs: number) {
    this.board = board;
    this.producer = producer;
    this.waitMs = waitMs;
  }

  /** Throws the verdict's refusal as an {@link ApiError}. `event` carries its command_id. */
  async send<T extends CommandTopic>(runId: string, topic: T, event: EventBodyMap[T]): Promise<CommandResult> {
    if (!this.board.get(runId)) throw runUnknown(runId);
    const { command_id: commandId } = event;
    const verdict = this.board.awaitVerdict(runId, commandId, this.waitMs);
    await this.producer.send(topic, event);
    const settled = await verdict;
    if (!settled) return { kind: 'pending', commandId };
    if (!settled.accepted) throw new ApiError(statusOf(settled.code), settled.code ?? 'REFUSED', settled.message);
    return { kind: 'settled', verdict: settled };
  }

  /** The command id of a request: stable for retries that carry an Idempotency-Key. */
  commandId(kind: string, idempotencyKey: string | undefined): string {
    return `${kind}:${idempotencyKey ?? randomUUID()}`;
  }

  isEnded(runId: string): boolean {
    const run = this.board.get(runId);
    return run !== undefined && hasEnded(run.state);
  }
}
