import type { EventMap, TopicName } from '@espalier/contracts';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { EspalierContext } from './event-context.ts';
import type { PatternExtras } from './strategy.ts';

/** What a handler of a pattern gets. */
type PayloadOf<T extends TopicName, E extends PatternExtras> = E extends { kind: 'failure' }
  ? { readonly request: EventMap[T]; readonly error: unknown }
  : EventMap[T];

/**
 * `@EventPattern` with types, and no parameter decorators: the handler takes the event of the topic and an {@link EspalierContext}.
 *
 * @example
 * \@OnEvent('trajectory.scored', { kind: 'facts', group: 'value-reranker' })
 * async scored(event: TrajectoryScored, context: EspalierContext): Promise<void> {}
 */
export const OnEvent =
  <T extends TopicName, const E extends PatternExtras>(topic: T, extras: E) =>
  <H extends (event: PayloadOf<T, E>, context: EspalierContext) => void | Promise<void>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<H>,
  ): void => {
    // Nest passes the payload alone to a method without parameter decorators.
    Payload()(target, key, 0);
    Ctx()(target, key, 1);
    (EventPattern(topic, extras) as MethodDecorator)(target, key, descriptor);
  };
