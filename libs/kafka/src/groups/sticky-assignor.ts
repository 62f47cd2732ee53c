import type { Assigner, GroupMember, GroupMemberAssignment, PartitionAssigner } from 'kafkajs';
import { AssignerProtocol } from '../client/cluster.ts';

const NAME = 'EspalierStickyCoPartition';

/**
 * Partition numbers for members: each keeps what it had up to its share, the rest goes to whoever has least. Pure; equal
 * inputs give equal outputs.
 */
export function shareOut(
  partitions: number,
  members: readonly { readonly memberId: string; readonly previous: readonly number[] }[],
): Map<string, number[]> {
  const sorted = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const share = Math.ceil(partitions / Math.max(1, sorted.length));
  // Only this many members may hold the larger share when it does not divide evenly.
  let large = partitions - Math.floor(partitions / Math.max(1, sorted.length)) * sorted.length;
  const given = new Map<string, number[]>(sorted.map(({ memberId }) => [memberId, []]));
  const taken = new Set<number>();
  for (const { memberId, previous } of sorted) {
    const mine = given.get(memberId) ?? [];
    for (const partition of [...new Set(previous)].sort((a, b) => a - b)) {
      if (partition >= partitions || taken.has(partition)) continue;
      if (mine.length >= share || (mine.length === share - 1 && large === 0 && partitions % sorted.length !== 0)) break;
      mine.push(partition);
      taken.add(partition);
    }
    if (mine.length === share && partitions % sorted.length !== 0) large -= 1;
  }
  for (let partition = 0; partition < partitions; partition += 1) {
    if (taken.has(partition)) continue;
    const least = sorted.reduce((a, b) =>
      (given.get(b.memberId)?.length ?? 0) < (given.get(a.memberId)?.length ?? 0) ? b : a,
    );
    given.get(least.memberId)?.push(partition);
  }
  return given;
}

/** Gives partition i of every topic to one member, and leaves partitions where they are when members come and go. */
export const stickyCoPartition =
  (previous: () => readonly number[]): PartitionAssigner =>
  ({ cluster }): Assigner => ({
    name: NAME,
    version: 1,
    protocol: ({ topics }: { topics: string[] }) => ({
      name: NAME,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: 1,
        topics,
        userData: Buffer.from(JSON.stringify(previous())),
      }),
    }),
    assign: ({ members, topics }: { members: GroupMember[]; topics: string[] }): Promise<GroupMemberAssignment[]> => {
      const counts = topics.map((topic) => cluster.findTopicPartitionMetadata(topic).length);
      const partitions = Math.min(...counts);
      const given = shareOut(
        partitions,
        members.map(({ memberId, memberMetadata }) => ({ memberId, previous: previousOf(memberMetadata) })),
      );
      return Promise.resolve(
        [...given].map(([memberId, mine]) => ({
          memberId,
          memberAssignment: AssignerProtocol.MemberAssignment.encode({
            version: 1,
            userData: Buffer.alloc(0),
            assignment: Object.fromEntries(topics.map((topic) => [topic, mine])),
          }),
        })),
      );
    },
  });

function previousOf(metadata: Buffer): number[] {
  try {
    const decoded = AssignerProtocol.MemberMetadata.decode(metadata);
    const previous = JSON.parse(decoded?.userData.toString('utf8') ?? '[]') as unknown;
    return Array.isArray(previous) ? previous.filter((entry): entry is number => Number.isInteger(entry)) : [];
  } catch {
    return [];
  }
}
