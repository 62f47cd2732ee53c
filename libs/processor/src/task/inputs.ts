import { topicOf, type StateMachine, type TopicName } from '@espalier/contracts';
import type { PartitionFollower, PartitionStream, RawRecord } from '@espalier/kafka';

/** Records of one topic waiting to be applied. */
interface Feed {
  readonly topic: TopicName;
  readonly stream: PartitionStream;
  queue: readonly RawRecord[];
  at: number;
  /** Where the position goes once the queue is applied. */
  after: number;
}

/** A record to apply next, and where its topic's position is then. */
export interface NextRecord {
  readonly topic: TopicName;
  readonly record: RawRecord;
  readonly nextPosition: number;
}

/** Records of one topic applied in a row before the next topic has its turn. */
const TURN = 50;

/** The inputs of one task: partition i of every topic, merged into one queue, fair between topics. */
export class Inputs {
  readonly #feeds: Feed[] = [];
  readonly #onReady: () => void;
  #turn = 0;
  #taken = 0;

  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  open(follower: PartitionFollower, prefix: string, topic: TopicName, partition: number, offset: number): void {
    const feed: Feed = {
      topic,
      stream: follower.open({
        topic: topicOf(prefix, topic),
        partition,
        offset,
        onChunk: () => this.#onReady(),
        onGap: (_from, to) => {
          feed.after = to;
        },
      }),
      queue: [],
      at: 0,
      after: offset,
    };
    this.#feeds.push(feed);
  }

  close(): void {
    for (const { stream } of this.#feeds) stream.close();
  }

  /** The next record in turn; undefined when none waits. */
  next(): NextRecord | undefined {
    for (let tried = 0; tried < this.#feeds.length; tried += 1) {
      const feed = this.#feeds[this.#turn];
      if (feed !== undefined && this.#taken < TURN && this.#refill(feed)) {
        const record = feed.queue[feed.at];
        if (record !== undefined) {
          feed.at += 1;
          this.#taken += 1;
          return {
            topic: feed.topic,
            record,
            nextPosition: feed.at < feed.queue.length ? record.offset + 1 : feed.after,
          };
        }
      }
      this.#turn = (this.#turn + 1) % this.#feeds.length;
      this.#taken = 0;
    }
    return undefined;
  }

  /** Positions of topics without waiting records: past transaction markers. */
  *idlePositions(): Iterable<readonly [TopicName, number]> {
    for (const feed of this.#feeds) if (!this.#refill(feed)) yield [feed.topic, feed.after];
  }

  /** What each topic still has: for watchdogs. */
  *progress(): Iterable<{ readonly topic: TopicName; readonly behind: boolean; readonly answeredAt: number }> {
    for (const { topic, stream, queue, at, after } of this.#feeds)
      yield {
        topic,
        behind: at < queue.length || stream.buffered > 0 || stream.endOffset > after,
        answeredAt: stream.answeredAt,
      };
  }

  /** Takes chunks until one has records; true when a record waits. */
  #refill(feed: Feed): boolean {
    while (feed.at >= feed.queue.length) {
      const chunk = feed.stream.take();
      if (chunk === undefined) return false;
      feed.queue = chunk.records;
      feed.at = 0;
      feed.after = chunk.nextOffset;
    }
    return true;
  }
}

/** The machine's topics that are decided on. */
export const decidedTopics = (machine: StateMachine): readonly TopicName[] =>
  machine.inputs.filter((topic) => !(machine.heartbeatInputs ?? []).includes(topic));
