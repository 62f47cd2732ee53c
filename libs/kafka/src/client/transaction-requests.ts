import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';

/** How long a coordinator's address is believed. One that moved answers with an error, after which the producer is made anew. */
const COORDINATOR_MS = 1_000;
/** How long the former transaction's markers may still be under way before the error is passed on, milliseconds. */
const MARKERS_MS = 2_000;
const TRANSACTION = 1;

interface Lookup {
  readonly groupId: string;
  readonly coordinatorType: number;
}

interface ClusterPrototype {
  findGroupCoordinatorMetadata: (this: ClusterPrototype, lookup: Lookup) => Promise<unknown>;
}

interface BrokerPrototype {
  addPartitionsToTxn: (this: BrokerPrototype, request: object) => Promise<unknown>;
}

let applied = false;

/**
 * kafkajs 2.2.4 asks for the coordinator before each of the four steps of a transaction, and answers "the markers of the
 * former transaction are still being written" by loading all metadata anew: half of a transaction's round trips. Here a transactional
 * producer remembers its coordinators for a second, and waits for the markers where it stands. Does nothing when kafkajs
 * has another inner shape.
 */
export function shortenTransactions(): void {
  if (applied) return;
  applied = true;
  let cluster: ClusterPrototype | undefined;
  let broker: BrokerPrototype | undefined;
  try {
    const require = createRequire(import.meta.url);
    cluster = (require('kafkajs/src/cluster') as { prototype: ClusterPrototype }).prototype;
    broker = (require('kafkajs/src/broker') as { prototype: BrokerPrototype }).prototype;
  } catch {
    return;
  }
  if (typeof cluster.findGroupCoordinatorMetadata === 'function') rememberCoordinators(cluster);
  if (typeof broker.addPartitionsToTxn === 'function') waitForMarkers(broker);
}

function rememberCoordinators(prototype: ClusterPrototype): void {
  const ask = prototype.findGroupCoordinatorMetadata;
  /** Only clusters of transactional producers: groups look for their coordinator when it has gone. */
  const known = new WeakMap<object, Map<string, { readonly found: unknown; readonly at: number }>>();
  prototype.findGroupCoordinatorMetadata = async function (lookup: Lookup): Promise<unknown> {
    if (lookup.coordinatorType === TRANSACTION && !known.has(this)) known.set(this, new Map());
    const mine = known.get(this);
    if (mine === undefined) return ask.call(this, lookup);
    const key = `${lookup.coordinatorType}/${lookup.groupId}`;
    const last = mine.get(key);
    if (last !== undefined && performance.now() - last.at < COORDINATOR_MS) return last.found;
    const found = await ask.call(this, lookup);
    mine.set(key, { found, at: performance.now() });
    return found;
  };
}

function waitForMarkers(prototype: BrokerPrototype): void {
  const add = prototype.addPartitionsToTxn;
  prototype.addPartitionsToTxn = async function (request: object): Promise<unknown> {
    const begun = performance.now();
    for (let wait = 1; ; wait = Math.min(wait * 2, 20)) {
      try {
        return await add.call(this, request);
      } catch (error) {
        const { type } = error as { readonly type?: string };
        if (type !== 'CONCURRENT_TRANSACTIONS' || performance.now() - begun > MARKERS_MS) throw error;
      }
      await delay(wait);
    }
  };
}
