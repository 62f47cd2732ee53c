import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Keys that the services of one plane share. */
export interface PlaneSecrets {
  /** API key of sandbox-manager. */
  readonly sandboxApiKey: string;
  /** HMAC secret of the capability tokens that sandboxes hold. */
  readonly capabilityKey: string;
}

/** The plane's secrets, made at first use; files of mode 600 in a folder of mode 700. */
export function planeSecrets(dir: string): PlaneSecrets {
  const folder = join(dir, 'secrets');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    sandboxApiKey: secret(join(folder, 'sandbox-api-key')),
    capabilityKey: secret(join(folder, 'capability-key')),
  };
}

/** Two processes that ask at once get the same secret: whoever links the file first has made it. */
function secret(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    const candidate = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
    writeFileSync(candidate, randomBytes(32).toString('base64url'), { mode: 0o600 });
    try {
      linkSync(candidate, path);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    } finally {
      rmSync(candidate);
    }
    return readFileSync(path, 'utf8');
  }
}
