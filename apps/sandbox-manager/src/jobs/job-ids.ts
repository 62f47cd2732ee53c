import { createHash, randomUUID } from 'node:crypto';

/** A job id: derived from the idempotency key where there is one, so that any manager finds the same job. */
export function jobIdFor(sandboxId: string, idempotencyKey: string | null): string {
  if (idempotencyKey === null) return randomUUID();
  const hex = createHash('sha256').update(`${sandboxId}\0${idempotencyKey}`).digest('hex');
  // Shaped as a version 4 UUID, which the contract promises.
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** SHA-256 of a command, hex. */
export const commandDigest = (command: string): string => createHash('sha256').update(command).digest('hex');
