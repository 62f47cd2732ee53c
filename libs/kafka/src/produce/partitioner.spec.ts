import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { expect, it } from 'vitest';
import { murmur2, partitionFor } from './partitioner.ts';

it('hashes as the Java client does', () => {
  // Vectors of org.apache.kafka.common.utils.UtilsTest.
  const vectors: [string, number][] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ];
  for (const [key, hash] of vectors) expect([key, murmur2(Buffer.from(key))]).toEqual([key, hash]);
});

it('agrees with the partitioner that kafkajs produces with', () => {
  const partitioner = Partitioners.DefaultPartitioner();
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.integer({ min: 1, max: 64 }), (key, partitions) => {
      const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
        partitionId,
        partitionErrorCode: 0,
        leader: 1,
        replicas: [1],
        isr: [1],
      }));
      return (
        partitioner({ topic: 't', partitionMetadata, message: { key, value: '' } }) === partitionFor(key, partitions)
      );
    }),
  );
});
