import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeBody, decodeBody } from '@espalier/avro';
import type { EventMap } from '@espalier/contracts';
import type { ObjectStore } from '@espalier/objects';
import { now } from '../measure/clock.ts';

/** What {@link bareDelivery} measures. */
export const BARE_DELIVERY = 'the same bytes from the memory of a plain HTTP server in this process';
const PARALLEL = 8;

/** Trajectories a second, and MiB a second on the wire. */
export interface Delivery {
  readonly trajectories: number;
  readonly perSecond: number;
  readonly mebibytesPerSecond: number;
}

/** Reads one response whole and counts its frames (u32 big-endian length, then a record). */
async function countFrames(url: string): Promise<{ frames: number; bytes: Buffer }> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  let frames = 0;
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32BE(at)) frames += 1;
  return { frames, bytes };
}

/** Downloads each URL in turn, `connections` at a time. */
async function download(urls: readonly string[], connections: number): Promise<Delivery & { bytes: Buffer[] }> {
  const begun = now();
  const rest = [...urls];
  const bytes: Buffer[] = [];
  let frames = 0;
  const work = async (): Promise<void> => {
    for (let url = rest.shift(); url !== undefined; url = rest.shift()) {
      const found = await countFrames(url);
      frames += found.frames;
      bytes.push(found.bytes);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  const seconds = (now() - begun) / 1000;
  const total = bytes.reduce((sum, part) => sum + part.length, 0);
  return {
    trajectories: frames,
    perSecond: frames / seconds,
    mebibytesPerSecond: total / 2 ** 20 / seconds,
    bytes,
  };
}

/** Downloads the samples of batches as Avro from the trainer-gateway. */
export async function deliver(
  gateway: string,
  batches: readonly EventMap['batch.offered'][],
  connections: number,
): Promise<Delivery & { bytes: Buffer[] }> {
  const urls = batches.map(
    ({ run_id: run, seq }) => `${gateway}/v1/runs/${run ?? ''}/batches/${seq}/samples?format=avro`,
  );
  const delivered = await download(urls, connections);
  const expected = batches.reduce((sum, batch) => sum + batch.entries.length, 0);
  if (delivered.trajectories !== expected)
    throw new Error(`${delivered.trajectories} samples were delivered, ${expected} are on offer`);
  return delivered;
}

/** The floor: the same responses from memory. */
export async function bareDelivery(responses: readonly Buffer[]): Promise<Delivery> {
  const server = createServer((request, response) => response.end(responses[Number(request.url?.slice(1))]));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return await download(
      responses.map((_, index) => `http://127.0.0.1:${port}/${index}`),
      1,
    );
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** What delivery cannot do without: reading, verifying and decompressing the bodies, and encoding the samples; no HTTP. */
export async function bareReading(
  objects: ObjectStore,
  batches: readonly EventMap['batch.offered'][],
): Promise<number> {
  const begun = now();
  const entries = batches.flatMap((batch) => batch.entries);
  const rest = [...entries];
  const work = async (): Promise<void> => {
    for (let entry = rest.shift(); entry !== undefined; entry = rest.shift()) {
      const body = decodeBody('trajectory.body', await objects.get(entry.body));
      for (const { sample_id, token_ids, logprobs, mask_runs, version_runs } of body.samples)
        encodeBody('batch.samples', {
          batch_id: 'b',
          seq: 1,
          sample_id,
          trajectory_id: entry.trajectory_id,
          group_id: entry.group_id,
          task_id: entry.task_id,
          reward: entry.reward,
          advantage: entry.advantage,
          token_ids,
          logprobs,
          mask_runs,
          version_runs,
          instruction: body.instruction,
        });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return entries.length / ((now() - begun) / 1000);
}
