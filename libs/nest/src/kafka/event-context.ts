import { BaseRpcContext } from '@nestjs/microservices';
import type { Claim, EventContext } from '@espalier/kafka';

/** Second argument of an event handler: where the event came from, and the claim when it is work. */
export class EspalierContext extends BaseRpcContext<[EventContext | undefined, Claim | undefined]> {
  /** Undefined for work: a claim outlives the record it came from. */
  getEvent(): EventContext | undefined {
    return this.args[0];
  }

  /** Throws when the event is not work. */
  getClaim(): Claim {
    const claim = this.args[1];
    if (claim === undefined) throw new TypeError('this handler is not of kind "work": it has no claim');
    return claim;
  }
}
