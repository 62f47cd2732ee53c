import { createHash } from 'node:crypto';

/**
 * Id of the sandbox of a fresh start: derived from attempt and epoch, so that a create sent twice makes one sandbox, and a
 * holder that was superseded never shares one with its successor.
 */
export const sandboxIdFor = (attemptId: string, epoch: number): string =>
  `r-${createHash('sha256').update(`${attemptId}\n${epoch}`).digest('hex').slice(0, 40)}`;
