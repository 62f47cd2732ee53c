import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { shortenTransactions } from './transaction-requests.ts';

const require = createRequire(import.meta.url);
const clusterPrototype = (require('kafkajs/src/cluster') as { prototype: object }).prototype;
const brokerPrototype = (require('kafkajs/src/broker') as { prototype: object }).prototype;
const sendRequest = Object.getOwnPropertySymbols(brokerPrototype).find((symbol) =>
  symbol.description?.includes('sendRequest'),
);
const [GROUP, TRANSACTION] = [0, 1];

shortenTransactions();

/** A kafkajs cluster whose one broker answers lookups and keeps them. */
function clusterAsked() {
  const asked: string[] = [];
  const broker = {
    findGroupCoordinator: async ({ groupId }: { groupId: string }) => {
      asked.push(groupId);
      return { host: 'h', coordinator: { nodeId: 1 } };
    },
  };
  const cluster = Object.assign(Object.create(clusterPrototype) as object, {
    logger: { debug: () => undefined },
    retrier: (run: (bail: (error: Error) => void) => unknown) =>
      run((error) => {
        throw error;
      }),
    brokerPool: { withBroker: (run: (at: object) => unknown) => run({ nodeId: '1', broker }) },
  }) as unknown as { findGroupCoordinatorMetadata(lookup: object): Promise<object> };
  const find = (groupId: string, coordinatorType: number | undefined) =>
    cluster.findGroupCoordinatorMetadata({ groupId, coordinatorType });
  return { asked, find };
}

/** A kafkajs broker that answers the requests of a transaction with these errors, then with success. */
function brokerWith(...errors: Error[]) {
  let requests = 0;
  if (sendRequest === undefined) throw new Error('this kafkajs has another broker');
  const broker = Object.assign(Object.create(brokerPrototype) as object, {
    lookupRequest: () => () => ({}),
    [sendRequest]: async () => {
      requests += 1;
      const error = errors.shift();
      if (error !== undefined) throw error;
      return 'added';
    },
  }) as unknown as { addPartitionsToTxn(request: object): Promise<unknown> };
  return { add: () => broker.addPartitionsToTxn({}), requests: () => requests };
}

const errorOf = (type: string): Error => Object.assign(new Error(type), { type });

it('remembers the coordinators of a transactional producer, each for itself, and those of nobody else', async () => {
  const producer = clusterAsked();
  for (let time = 0; time < 3; time += 1) {
    await producer.find('my-transactions', TRANSACTION);
    expect(await producer.find('my-group', GROUP)).toMatchObject({ coordinator: { nodeId: 1 } });
  }
  expect(producer.asked).toEqual(['my-transactions', 'my-group']);

  const consumer = clusterAsked();
  for (let time = 0; time < 3; time += 1) await consumer.find('my-group', GROUP);
  expect(consumer.asked).toHaveLength(3);
});

it('waits while the markers of the former transaction are written, and passes every other error on', async () => {
  const busy = brokerWith(errorOf('CONCURRENT_TRANSACTIONS'), errorOf('CONCURRENT_TRANSACTIONS'));
  expect(await busy.add()).toBe('added');
  expect(busy.requests()).toBe(3);
  const fenced = brokerWith(errorOf('INVALID_PRODUCER_EPOCH'));
  await expect(fenced.add()).rejects.toThrow('INVALID_PRODUCER_EPOCH');
  expect(fenced.requests()).toBe(1);
});
