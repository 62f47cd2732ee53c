import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Timers } from './timers.ts';

const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), key: fc.constantFrom('a', 'b', 'c', 'd'), at: fc.nat(50) }),
  fc.record({ do: fc.constant('clear' as const), key: fc.constantFrom('a', 'b', 'c', 'd'), at: fc.nat(50) }),
  fc.record({ do: fc.constant('renew' as const), key: fc.constantFrom('a', 'b', 'c', 'd'), at: fc.nat(50) }),
);

it('names what is due, earliest first, through sets, clears and renewals', () => {
  fc.assert(
    fc.property(fc.array(step), fc.nat(60), (steps, now) => {
      const timers = new Timers();
      const model = new Map<string, number>();
      for (const { do: what, key, at } of steps) {
        if (what === 'set') {
          timers.set(key, at);
          model.set(key, at);
        } else if (what === 'clear') {
          timers.set(key, null);
          model.delete(key);
        } else {
          timers.renew(key, at);
          const due = model.get(key);
          if (due !== undefined && at > due) model.set(key, at);
        }
      }
      const due = [...model].filter(([, at]) => at <= now).sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
      expect(timers.due(now, 10)).toEqual(due.map(([key]) => key));
      expect(timers.due(now, 10)).toEqual(due.map(([key]) => key));
      expect(timers.nextDue()).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
    }),
  );
});

it('keeps the time that was set apart from the time it is due', () => {
  const timers = new Timers();
  timers.set('a', 10);
  timers.renew('a', 30);
  timers.renew('unset', 30);
  expect([...timers.entries()]).toEqual([['a', { at: 10, due: 30 }]]);
  expect(timers.due(29, 10)).toEqual([]);
});
