import type { ObjectStore } from '@espalier/objects';
import { z } from 'zod';
import { FEATURES_VERSION, featureNames } from '../features/features.ts';

/** A labelled trajectory as it is kept for fitting. */
export interface StoredExample {
  readonly trajectoryId: string;
  readonly groupId: string;
  readonly revision: number;
  /** When it was scored, milliseconds UTC. */
  readonly scoredAt: number;
  readonly passed: boolean;
  readonly features: readonly number[];
}

const PREFIX = 'models/value-examples';

const schema = z.object({
  features_version: z.literal(FEATURES_VERSION),
  trajectory_id: z.string(),
  group_id: z.string(),
  revision: z.int(),
  scored_at: z.number(),
  passed: z.boolean(),
  features: z.array(z.number()).length(featureNames.length),
});

/**
 * Labelled examples in the object store: every replica adds those of its partitions, the fitter reads all. So features are
 * extracted once, by as many replicas as there are, and outlive the topics they came from.
 */
export class ExampleStore {
  readonly #objects: ObjectStore;
  readonly #known = new Map<string, StoredExample | null>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  /** Durable when it resolves; adding the same example again changes nothing. */
  async add(example: StoredExample): Promise<void> {
    const content = {
      features_version: FEATURES_VERSION,
      trajectory_id: example.trajectoryId,
      group_id: example.groupId,
      revision: example.revision,
      scored_at: example.scoredAt,
      passed: example.passed,
      features: example.features,
    };
    await this.#objects.put(Buffer.from(JSON.stringify(content)), {
      prefix: PREFIX,
      mediaType: 'application/json',
      compress: false,
    });
  }

  /**
   * The newest examples, at most `most`, one a trajectory (its highest revision), ordered by id, so that equal sets give
   * equal models. Those beyond are removed from the store, as are those of other features.
   */
  async newest(most: number): Promise<StoredExample[]> {
    const keys = new Set<string>();
    for await (const { key } of this.#objects.list(PREFIX)) {
      keys.add(key);
      if (!this.#known.has(key)) this.#known.set(key, await this.#read(key));
    }
    for (const key of [...this.#known.keys()]) if (!keys.has(key)) this.#known.delete(key);
    const byTrajectory = new Map<string, { key: string; example: StoredExample }>();
    const surplus: string[] = [];
    for (const [key, example] of this.#known) {
      const other = example && byTrajectory.get(example.trajectoryId);
      if (!example || (other && other.example.revision >= example.revision)) surplus.push(key);
      else {
        if (other) surplus.push(other.key);
        byTrajectory.set(example.trajectoryId, { key, example });
      }
    }
    const sorted = [...byTrajectory.values()].sort(
      (a, b) => b.example.scoredAt - a.example.scoredAt || (a.example.trajectoryId < b.example.trajectoryId ? -1 : 1),
    );
    for (const key of [...surplus, ...sorted.slice(most).map((one) => one.key)]) {
      await this.#objects.remove(key);
      this.#known.delete(key);
    }
    return sorted
      .slice(0, most)
      .map(({ example }) => example)
      .sort((a, b) => (a.trajectoryId < b.trajectoryId ? -1 : 1));
  }

  async #read(key: string): Promise<StoredExample | null> {
    const parsed = schema.safeParse(parseJson(await this.#objects.getStored(key)));
    if (!parsed.success) return null;
    const { trajectory_id, group_id, revision, scored_at, passed, features } = parsed.data;
    return { trajectoryId: trajectory_id, groupId: group_id, revision, scoredAt: scored_at, passed, features };
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
