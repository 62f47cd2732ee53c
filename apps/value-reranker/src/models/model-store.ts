import type { ObjectStore } from '@espalier/objects';
import type { StoredModel } from '../ranking/rank-group.ts';
import { decodeModel, digestOfModel, encodeModel, ValueModelError, type ValueModel } from './value-model.ts';

const PREFIX = 'models/value';

/** Versioned value models in the object store, `models/value/<digest>`. */
export class ModelStore {
  readonly #objects: ObjectStore;
  readonly #seen = new Set<string>();
  #newest: StoredModel | null = null;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  /** The newest model as of the last {@link refresh}. */
  get newest(): StoredModel | null {
    return this.#newest;
  }

  /** Looks for newer models; models over other features are passed over. */
  async refresh(): Promise<StoredModel | null> {
    for await (const { key } of this.#objects.list(PREFIX)) {
      if (this.#seen.has(key) || !key.startsWith(`${PREFIX}/`)) continue;
      try {
        const bytes = await this.#objects.getStored(key);
        this.#offer({ model: decodeModel(bytes), digest: digestOfModel(bytes) });
      } catch (error) {
        if (!(error instanceof ValueModelError)) throw error;
      }
      this.#seen.add(key);
    }
    return this.#newest;
  }

  /** Durable, and known to this replica, when it resolves. */
  async publish(model: ValueModel): Promise<StoredModel> {
    const bytes = encodeModel(model);
    const ref = await this.#objects.put(bytes, { prefix: PREFIX, mediaType: 'application/json', compress: false });
    const stored = { model, digest: digestOfModel(bytes) };
    this.#seen.add(ref.key);
    this.#offer(stored);
    return stored;
  }

  #offer(stored: StoredModel): void {
    const { model, digest } = stored;
    const newest = this.#newest;
    if (
      !newest ||
      model.version > newest.model.version ||
      (model.version === newest.model.version && digest > newest.digest)
    )
      this.#newest = stored;
  }
}
