import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine } from '../supervisor/signals.ts';

/** Where a broker listens; kept beside its data, so that other processes find it and a restart keeps its ports. */
export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** A broker whose process runs at this moment. */
export interface RunningBroker extends BrokerAddress {
  readonly pid: number;
}

/** The files of an embedded broker under its folder. */
export const brokerPaths = (kafkaDir: string) => ({
  address: join(kafkaDir, 'broker.json'),
  /** Written by the process itself as the first thing it does, so that it is right after any restart. */
  pid: join(kafkaDir, 'broker.pid'),
  properties: join(kafkaDir, 'server.properties'),
  data: join(kafkaDir, 'data'),
});

export function writeBrokerAddress(kafkaDir: string, address: BrokerAddress): void {
  const { address: path } = brokerPaths(kafkaDir);
  writeFileSync(`${path}.${process.pid}`, `${JSON.stringify(address)}\n`);
  renameSync(`${path}.${process.pid}`, path);
}

/** The address used last, whether or not that broker still runs; null when there is none. */
export function readBrokerAddress(kafkaDir: string): BrokerAddress | null {
  try {
    return JSON.parse(readFileSync(brokerPaths(kafkaDir).address, 'utf8')) as BrokerAddress;
  } catch {
    return null;
  }
}

/**
 * The broker of this folder, if its process runs. A process id alone proves nothing after a reboot: the command line must
 * name the folder's own configuration.
 */
export function runningBroker(kafkaDir: string): RunningBroker | null {
  const address = readBrokerAddress(kafkaDir);
  if (address === null) return null;
  const { pid: pidFile, properties } = brokerPaths(kafkaDir);
  let pid: number;
  try {
    pid = Number(readFileSync(pidFile, 'utf8'));
  } catch {
    return null;
  }
  return pid > 0 && commandLine(pid).includes(properties) ? { ...address, pid } : null;
}
