import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type Kafka as KafkaClient, type RetryOptions, type SASLOptions, CompressionTypes } from 'kafkajs';
import type { KafkaConnection, KafkaLogger } from '../port.ts';
import { quietIdleConnections } from './idle-timer.ts';
import { silentLogger } from './log.ts';
import { shortenTransactions } from './transaction-requests.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

let prepared = false;

function prepare(): void {
  if (prepared) return;
  prepared = true;
  quietIdleConnections();
  shortenTransactions();
  kafkajs.CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: (encoder: { buffer: Buffer }) => compress(encoder.buffer),
    decompress: (buffer: Buffer) => decompress(buffer),
  });
}

/** Retries of a client's requests, over about four seconds; callers with a longer patience wait around it. */
export const CLIENT_RETRY: RetryOptions = { initialRetryTime: 50, maxRetryTime: 1000, multiplier: 2, retries: 6 };

/**
 * A kafkajs client of its own. Each part of the library takes its own: kafkajs shares committed offsets between consumers
 * of one client, and a connection answers requests one after another, so that a long poll holds up whatever shares it.
 */
export function createClient(connection: KafkaConnection, purpose: string): KafkaClient {
  prepare();
  return new kafkajs.Kafka({
    clientId: `${connection.clientId}/${purpose}`,
    brokers: connection.brokers,
    ...(connection.ssl === undefined ? {} : { ssl: connection.ssl }),
    ...(connection.sasl === undefined ? {} : { sasl: connection.sasl as SASLOptions }),
    connectionTimeout: 3000,
    requestTimeout: 15_000,
    retry: CLIENT_RETRY,
    logLevel: kafkajs.logLevel.WARN,
    logCreator: logCreator(connection.logger ?? silentLogger, purpose),
  });
}

/** kafkajs logs as errors what it then retries. All of it is detail here: what is final is thrown, and logged by whoever catches it. */
const logCreator =
  (logger: KafkaLogger, purpose: string) =>
  (): ((entry: { namespace: string; log: { message: string; [field: string]: unknown } }) => void) =>
  ({ namespace, log }) => {
    const { message, timestamp: _timestamp, logger: _name, stack: _stack, ...fields } = log;
    logger.debug({ ...fields, kafkajs: namespace, purpose }, message);
  };
