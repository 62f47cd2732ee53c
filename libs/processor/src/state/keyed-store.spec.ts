import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KeyedStore, Overlay, type StoredEntry } from './keyed-store.ts';

const entry = (n: number): StoredEntry => ({ kind: 'k', value: { n } });
const key = fc.constantFrom('a', 'a/1', 'a/2', 'a/10', 'ab', 'b', 'b/1', 'c', '');
const change = fc.tuple(key, fc.option(fc.nat(99)));

const sorted = (model: ReadonlyMap<string, number>, prefix: string): [string, number][] =>
  [...model].filter(([name]) => name.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));

it('scans in key order through any number of writes, loads and overlays', () => {
  fc.assert(
    fc.property(
      fc.array(change),
      fc.array(change),
      fc.array(change),
      fc.array(change),
      key,
      (loads, sets, first, second, prefix) => {
        const model = new Map<string, number>();
        const store = new KeyedStore();
        const follow = (name: string, n: number | null): void => {
          if (n === null) model.delete(name);
          else model.set(name, n);
        };
        for (const [name, n] of loads) {
          store.load(name, n === null ? null : entry(n));
          follow(name, n);
        }
        for (const [name, n] of sets) {
          store.set(name, n === null ? null : entry(n));
          follow(name, n);
        }
        const scanned = (view: {
          scan(prefix: string): Iterable<readonly [string, { n?: unknown; value?: { n?: unknown } }]>;
        }) => [...view.scan(prefix)].map(([name, value]) => [name, value.n ?? value.value?.n]);
        expect(scanned(store)).toEqual(sorted(model, prefix));
        const below = new Overlay(store);
        for (const [name, n] of first) {
          below.write(name, n === null ? null : entry(n));
          follow(name, n);
        }
        const above = new Overlay(below);
        for (const [name, n] of second) {
          above.write(name, n === null ? null : entry(n));
          follow(name, n);
        }
        expect(scanned(above)).toEqual(sorted(model, prefix));
        expect(above.get<{ n: number }>(prefix)?.n).toBe(model.get(prefix));
        below.absorb(above);
        for (const [name, changed] of below.delta()) store.set(name, changed);
        expect(scanned(store)).toEqual(sorted(model, prefix));
      },
    ),
  );
});

it('may be written to while it is scanned', () => {
  const overlay = new Overlay(new KeyedStore());
  for (const name of ['a/1', 'a/2', 'a/3']) overlay.write(name, entry(1));
  const seen: string[] = [];
  for (const [name] of overlay.scan('a/')) {
    seen.push(name);
    overlay.write(name, null);
    overlay.write('a/0', entry(1));
  }
  expect(seen).toEqual(['a/1', 'a/2', 'a/3']);
});
