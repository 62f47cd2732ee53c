import { parentPort, workerData } from 'node:worker_threads';
import { encodeBody } from '@espalier/avro';
import { openObjectStore } from '@espalier/objects';
import { Bodies } from './bodies.ts';
import type { BodyAnswer, BodyRequest } from './body-maker.ts';

/** Makes and stores bodies beside the process's main thread, as a runner does it in a process of its own. */
const { objectsUrl } = workerData as { readonly objectsUrl: string };
const objects = openObjectStore(objectsUrl);
const bodies = new Bodies();

async function answer({ number, request }: BodyRequest): Promise<BodyAnswer> {
  try {
    const ref = await objects.put(encodeBody('trajectory.body', bodies.of(request)), {
      prefix: `runs/${request.run_id ?? 'none'}/trajectories`,
      mediaType: 'application/avro',
    });
    return { number, ref };
  } catch (error) {
    return { number, error: String(error) };
  }
}

parentPort?.on('message', (request: BodyRequest) => {
  void answer(request).then((message) => parentPort?.postMessage(message));
});
