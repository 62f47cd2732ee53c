import { ApiError } from '../http/errors.ts';

/** Characters outside of the alphabet are dropped; what remains must be padded. Throws 500 `Incorrect padding`. */
export function decodeBase64(text: string): Buffer {
  const kept = text.replace(/[^A-Za-z0-9+/=]/g, '');
  const data = kept.replace(/=+$/, '');
  // Python stops at the first complete padding; anything that is no whole number of groups is refused.
  if (data.length % 4 === 1 || (data.length % 4 !== 0 && kept.length - data.length < 4 - (data.length % 4)))
    throw ApiError.of(500, 'Incorrect padding');
  return Buffer.from(data, 'base64');
}
