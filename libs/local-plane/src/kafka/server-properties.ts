/** What differs between one embedded broker and the next. */
export interface BrokerSettings {
  readonly host: string;
  readonly port: number;
  readonly controllerPort: number;
  readonly dataDir: string;
}

/**
 * Configuration of a broker that is its own controller, for one machine and small loads: nothing is replicated, internal
 * topics have few partitions, segments and their preallocated indices are small, groups form at once, and a transaction
 * that its producer abandoned is aborted within a second of its timeout.
 */
export function serverProperties({ host, port, controllerPort, dataDir }: BrokerSettings): string {
  const properties: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@${host}:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://${host}:${port},CONTROLLER://${host}:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${host}:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': dataDir,

    'auto.create.topics.enable': 'false',
    'num.partitions': 1,
    'default.replication.factor': 1,
    'min.insync.replicas': 1,
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.segment.bytes': mebibytes(8),
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.segment.bytes': mebibytes(8),
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': 1_000,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,

    // A killed broker can register again only when its former session has lapsed (by default 9 s): this bounds its restart.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,

    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1_000,

    'log.segment.bytes': mebibytes(16),
    'log.index.size.max.bytes': 512 * 1024,
    'log.cleaner.threads': 1,
    'log.cleaner.dedupe.buffer.size': mebibytes(16),
    'log.cleaner.io.buffer.size': 256 * 1024,
    'log.cleaner.backoff.ms': 5_000,
    'metadata.log.segment.bytes': mebibytes(8),

    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    'num.recovery.threads.per.data.dir': 2,
  };
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${escapeValue(String(value))}\n`)
    .join('');
}

const mebibytes = (count: number): number => count * 1024 * 1024;

/** Java's properties format reads a backslash as the beginning of an escape. */
const escapeValue = (value: string): string => value.replaceAll('\\', '\\\\');
