import { DecodeError, decodeBody } from '@espalier/avro';
import type { ObjectRef, TrajectoryBody } from '@espalier/contracts';
import { ObjectStoreError, type ObjectStore } from '@espalier/objects';

/**
 * A trajectory's body; null where there is none to be had (never recorded, removed, damaged): its sizes still say
 * something. Throws `OBJECT_STORE_UNAVAILABLE`, which is worth another try.
 */
export async function readBody(objects: ObjectStore, ref: ObjectRef | null): Promise<TrajectoryBody | null> {
  if (ref === null) return null;
  try {
    return decodeBody('trajectory.body', await objects.get(ref));
  } catch (error) {
    if (error instanceof ObjectStoreError && error.retryable) throw error;
    if (error instanceof ObjectStoreError || error instanceof DecodeError) return null;
    throw error;
  }
}
