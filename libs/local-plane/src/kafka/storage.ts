import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PlaneError } from '../errors/plane-errors.ts';

const run = promisify(execFile);

/** Formats a broker's data directory for KRaft, once in its life; cheap when that was already done. */
export async function formatStorage(dataDir: string, propertiesFile: string, classPath: string): Promise<void> {
  if (existsSync(join(dataDir, 'meta.properties'))) return;
  rmSync(dataDir, { recursive: true, force: true }); // a format that was interrupted: without meta.properties it is empty
  const clusterId = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url');
  try {
    await run('java', [
      ...['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath],
      ...['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '--config', propertiesFile],
    ]);
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    throw new PlaneError('PLANE_KAFKA_FORMAT_FAILED', `Formatting ${dataDir} for Kafka failed: ${said.trim()}`, false, {
      cause: error,
    });
  }
}
