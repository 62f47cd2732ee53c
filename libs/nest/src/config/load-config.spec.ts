import { expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, loadConfig } from './load-config.ts';
import { serviceConfigOf, serviceSettings } from './service-config.ts';

it('names every bad key at once', () => {
  const schema = z.object({ A: z.coerce.number(), B: z.enum(['x', 'y']), C: z.string() });
  let error: unknown;
  try {
    loadConfig(schema, { A: 'one', B: 'z' });
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).problems.map((problem) => problem.split(':')[0])).toEqual(['A', 'B', 'C']);
});

it('freezes what it gives, all the way down, and takes empty for not set', () => {
  const config = loadConfig(
    z.object({
      A: z
        .string()
        .default('d')
        .transform((list) => list.split(',')),
    }),
    { A: '' },
  );
  expect(config).toEqual({ A: ['d'] });
  expect(Object.isFrozen(config) && Object.isFrozen(config.A)).toBe(true);
});

it('gives every service its ports, and a loopback address', () => {
  const config = serviceConfigOf(
    'trainer-gateway',
    loadConfig(serviceSettings, { ESPALIER_KAFKA_BROKERS: 'a:1, b:2' }),
  );
  expect(config).toMatchObject({
    httpPort: 4104,
    metricsPort: 4204,
    bind: '127.0.0.1',
    brokers: ['a:1', 'b:2'],
    profile: 'embedded',
  });
  expect(config.instance).toMatch(/^trainer-gateway-/);
  expect(() => loadConfig(serviceSettings, { ESPALIER_KAFKA_BROKERS: 'nonsense' })).toThrow(/ESPALIER_KAFKA_BROKERS/);
});
