/** 32-bit FNV-1a with a final mix: equal on every machine and for ever, since models depend on it. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Adds a word to its bucket, with a sign of its own, so that words which share a bucket cancel out on average. */
export function addHashed(buckets: number[], word: string, weight = 1): void {
  const hash = hash32(word);
  const at = hash % buckets.length;
  buckets[at] = (buckets[at] ?? 0) + (hash >>> 31 === 0 ? weight : -weight);
}
