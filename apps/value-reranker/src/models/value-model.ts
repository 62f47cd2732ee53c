import { createHash } from 'node:crypto';
import { z } from 'zod';
import { FEATURES_VERSION, featureNames } from '../features/features.ts';
import { hash32 } from '../features/hashing.ts';
import { fitLogistic, predict, type Example, type FitOptions, type LogisticModel } from './logistic.ts';

/** Parts that groups are divided into. */
export const FOLDS = 4;

/** An example with the group it comes from. */
export interface GroupedExample extends Example {
  readonly groupId: string;
}

/**
 * A value model is one logistic model a fold, fitted on the groups outside that fold, and a group is ranked by the model
 * of its own fold. So no trajectory is ever valued by a model that has seen its verdict, or a sibling's, whichever
 * event arrives first.
 */
export interface ValueModel {
  readonly version: number;
  /** Labelled trajectories it was fitted on. */
  readonly examples: number;
  readonly folds: readonly LogisticModel[];
}

/** A model object that cannot be used. */
export class ValueModelError extends Error {
  readonly code = 'VALUE_MODEL_UNUSABLE';
  readonly retryable = false;
}

const numbers = z.array(z.number());
const schema = z.object({
  features_version: z.literal(FEATURES_VERSION),
  features: z.literal(featureNames.length),
  version: z.int().min(1),
  examples: z.int().min(0),
  folds: z.array(z.object({ mean: numbers, scale: numbers, weights: numbers })).length(FOLDS),
});

export const foldOf = (groupId: string): number => hash32(groupId) % FOLDS;

/** Whether every fold's model would see passed and failed examples; before that there is nothing to learn. */
export const fittable = (examples: readonly GroupedExample[]): boolean =>
  Array.from({ length: FOLDS }, (_, fold) => examples.filter(({ groupId }) => foldOf(groupId) !== fold)).every(
    (part) => part.some(({ passed }) => passed) && part.some(({ passed }) => !passed),
  );

/** Fits all folds; gives the event loop back between them. */
export async function fitValueModel(
  version: number,
  examples: readonly GroupedExample[],
  options?: FitOptions,
): Promise<ValueModel> {
  const folds: LogisticModel[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    folds.push(
      fitLogistic(
        examples.filter(({ groupId }) => foldOf(groupId) !== fold),
        options,
      ),
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { version, examples: examples.length, folds };
}

/** Probability that a trajectory of this group passes; 0.5 without a model. */
export function valueOf(model: ValueModel | null, groupId: string, features: readonly number[]): number {
  const fold = model?.folds[foldOf(groupId)];
  return fold ? predict(fold, features) : 0.5;
}

export const encodeModel = (model: ValueModel): Buffer =>
  Buffer.from(
    JSON.stringify({
      features_version: FEATURES_VERSION,
      features: featureNames.length,
      version: model.version,
      examples: model.examples,
      folds: model.folds,
    }),
  );

/** Throws {@link ValueModelError}, also for a model over other features. */
export function decodeModel(bytes: Buffer): ValueModel {
  try {
    const { version, examples, folds } = schema.parse(JSON.parse(bytes.toString('utf8')));
    return { version, examples, folds };
  } catch (error) {
    throw new ValueModelError(`not a value model of this version: ${error instanceof Error ? error.message : ''}`);
  }
}

/** SHA-256 of the encoded model, hex. */
export const digestOfModel = (encoded: Buffer): string => createHash('sha256').update(encoded).digest('hex');
