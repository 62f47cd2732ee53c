import { expect, it } from 'vitest';
import { DirectorySync } from './directory-sync.ts';

/** Syncs that end when told to. */
function manual() {
  const begun: { directory: string; end: (error?: Error) => void }[] = [];
  const sync = new DirectorySync(
    (directory) =>
      new Promise((resolve, reject) =>
        begun.push({ directory, end: (error) => (error === undefined ? resolve() : reject(error)) }),
      ),
  );
  return { sync, begun };
}

it('never counts a sync that began before the call, and lets all that wait share the next', async () => {
  const { sync, begun } = manual();
  const first = sync.sync('a');
  let late = 0;
  const others = [sync.sync('a'), sync.sync('a'), sync.sync('a')].map((done) => done.then(() => (late += 1)));
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await first;
  await expect.poll(() => begun.length).toBe(2);
  expect(late).toBe(0);
  begun[1]?.end();
  await Promise.all(others);
  expect([late, begun.length]).toEqual([3, 2]);
});

it('fails those whose sync failed, and begins anew for those after them; directories do not wait for each other', async () => {
  const { sync, begun } = manual();
  const first = sync.sync('a');
  const second = sync.sync('a');
  const other = sync.sync('b');
  begun[0]?.end(new Error('disk'));
  begun[1]?.end();
  await expect(first).rejects.toThrow('disk');
  await other;
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.end();
  await second;
  expect(begun.map(({ directory }) => directory)).toEqual(['a', 'b', 'a']);
});
