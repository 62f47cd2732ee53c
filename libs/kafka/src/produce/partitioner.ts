/** Murmur2 as the Java client computes it (seed 0x9747b28c), of the key's UTF-8 bytes. */
export function murmur2(bytes: Uint8Array): number {
  const m = 0x5bd1e995;
  const length = bytes.length;
  let h = 0x9747b28c ^ length;
  const words = length >> 2;
  for (let word = 0; word < words; word += 1) {
    const at = word * 4;
    let k =
      (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    k = Math.imul(k, m);
    h = Math.imul(h, m) ^ k;
  }
  const tail = words * 4;
  const rest = length & 3;
  if (rest >= 3) h ^= (bytes[tail + 2] ?? 0) << 16;
  if (rest >= 2) h ^= (bytes[tail + 1] ?? 0) << 8;
  if (rest >= 1) h = Math.imul(h ^ (bytes[tail] ?? 0), m);
  h ^= h >>> 13;
  h = Math.imul(h, m);
  h ^= h >>> 15;
  return h;
}

/** The partition of a key among `partitions`, as Java's DefaultPartitioner chooses it. */
export function partitionFor(key: string | Uint8Array, partitions: number): number {
  const hash = murmur2(typeof key === 'string' ? Buffer.from(key, 'utf8') : key);
  return (hash & 0x7fffffff) % partitions;
}
