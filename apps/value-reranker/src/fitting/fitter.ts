import { fittable, fitValueModel } from '../models/value-model.ts';
import type { ModelStore } from '../models/model-store.ts';
import type { StoredModel } from '../ranking/rank-group.ts';
import type { ExampleStore } from './example-store.ts';

/** When to fit. */
export interface FitterOptions {
  /** New or changed examples that make a new model worth fitting. */
  readonly refitEvery: number;
  /** Most examples of a fit; the newest. */
  readonly mostExamples: number;
}

/** Fits a new model when enough new examples are there. */
export class Fitter {
  readonly #examples: ExampleStore;
  readonly #models: ModelStore;
  readonly #options: FitterOptions;
  #fitted = new Set<string>();

  constructor(examples: ExampleStore, models: ModelStore, options: FitterOptions) {
    this.#examples = examples;
    this.#models = models;
    this.#options = options;
  }

  /** Gives the new model, or null where none was due. `owns` is asked again before publishing. */
  async step(owns: () => boolean): Promise<StoredModel | null> {
    const examples = await this.#examples.newest(this.#options.mostExamples);
    const ids = examples.map(({ trajectoryId, revision }) => `${trajectoryId}#${revision}`);
    const unseen = ids.filter((id) => !this.#fitted.has(id)).length;
    if (unseen < this.#options.refitEvery || !fittable(examples)) return null;
    const newest = await this.#models.refresh();
    // After a restart this does not know what the newest model was fitted on; as many examples mean nothing is new.
    if (
      this.#fitted.size === 0 &&
      newest !== null &&
      examples.length - newest.model.examples < this.#options.refitEvery
    ) {
      this.#fitted = new Set(ids);
      return null;
    }
    const model = await fitValueModel((newest?.model.version ?? 0) + 1, examples);
    if (!owns()) return null;
    this.#fitted = new Set(ids);
    return this.#models.publish(model);
  }
}
