import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openObjectStore, type ObjectStore } from './index.ts';

let root: string;
let store: ObjectStore;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'objects-'));
  store = openObjectStore(pathToFileURL(root).href);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const options = { prefix: 'runs/demo/trajectories', mediaType: 'text/plain' };

it('gives back what was put, under the hash of the stored bytes', async () => {
  const content = Buffer.from('x'.repeat(5000));
  const ref = await store.put(content, options);
  expect(ref.key).toBe(`runs/demo/trajectories/${ref.sha256}`);
  expect(ref.bytes).toBeLessThan(ref.content_bytes);
  expect(await store.get(ref)).toEqual(content);
  expect(readdirSync(join(root, 'runs/demo/trajectories'))).toEqual([ref.sha256]);
});

it('renews the time of an object that is put again', async () => {
  const ref = await store.put(Buffer.from('a'), options);
  const path = join(root, ref.key);
  utimesSync(path, new Date(0), new Date(0));
  expect(await store.put(Buffer.from('a'), options)).toEqual(ref);
  expect(statSync(path).mtimeMs).toBeGreaterThan(1_000_000);
});

it('replaces a file that a crash cut short', async () => {
  const ref = await store.put(Buffer.from('whole'), { ...options, compress: false });
  writeFileSync(join(root, ref.key), 'wh');
  await expect(store.get(ref)).rejects.toMatchObject({ code: 'OBJECT_CORRUPT' });
  await store.put(Buffer.from('whole'), { ...options, compress: false });
  expect((await store.get(ref)).toString()).toBe('whole');
});

it('names missing objects and refuses keys that leave the store', async () => {
  const ref = await store.put(Buffer.from('a'), options);
  await store.remove(ref.key);
  await expect(store.get(ref)).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
  await expect(store.put(Buffer.from('a'), { ...options, prefix: '../up' })).rejects.toMatchObject({
    code: 'OBJECT_KEY_INVALID',
  });
});
