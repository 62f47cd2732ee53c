import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planeSettings } from './plane-options.ts';
import { fixedPorts, serviceNames } from './ports.ts';
import { planeSecrets } from './secrets.ts';

describe('planeSettings', () => {
  it('puts a flag before the environment and that before the default', () => {
    const environment = { ESPALIER_PREFIX: 'from-env', KAFKA_BROKERS: 'a:1, b:2', ESPALIER_LOG_LEVEL: 'debug' };
    expect(planeSettings({ root: '/r' }, {})).toMatchObject({
      dir: '/r/.espalier',
      prefix: 'espalier',
      brokers: null,
      logLevel: 'info',
      profile: 'embedded',
    });
    expect(planeSettings({ root: '/r' }, environment)).toMatchObject({
      prefix: 'from-env',
      brokers: ['a:1', 'b:2'],
      logLevel: 'debug',
    });
    expect(
      planeSettings({ root: '/r', prefix: 'mine', brokers: ['c:3'], logLevel: 'warn' }, environment),
    ).toMatchObject({
      prefix: 'mine',
      brokers: ['c:3'],
      logLevel: 'warn',
    });
  });

  it('keeps an isolated plane away from the one of the checkout', () => {
    const [one, two] = [0, 1].map(() => planeSettings({ root: '/r', isolated: true }, { ESPALIER_PREFIX: 'espalier' }));
    expect(one?.prefix).not.toBe('espalier');
    expect(one?.prefix).not.toBe(two?.prefix);
    expect(one?.dir.startsWith(tmpdir())).toBe(true);
    expect(one?.dir).not.toBe(two?.dir);
  });

  it('leaves out services with no replicas', () => {
    const { replicas } = planeSettings({ root: '/r', replicas: { 'reference-learner': 0, 'rollout-runner': 3 } }, {});
    expect(replicas.has('reference-learner')).toBe(false);
    expect(replicas.get('rollout-runner')).toBe(3);
    expect(replicas.size).toBe(serviceNames.length - 1);
  });
});

describe('fixedPorts', () => {
  it('never gives one port twice, for up to five replicas of everything', () => {
    const ports = serviceNames.flatMap((service) =>
      [0, 1, 2, 3, 4].flatMap((index) => {
        const { http, metrics } = fixedPorts(service, index);
        return http === null ? [metrics] : [http, metrics];
      }),
    );
    expect(new Set(ports).size).toBe(ports.length);
  });
});

describe('planeSecrets', () => {
  it('makes them once, readable by their owner alone', () => {
    const dir = mkdtempSync(join(tmpdir(), 'espalier-secrets-'));
    try {
      const first = planeSecrets(dir);
      expect(planeSecrets(dir)).toEqual(first);
      expect(first.sandboxApiKey).not.toBe(first.capabilityKey);
      expect(Buffer.from(first.capabilityKey, 'base64url')).toHaveLength(32);
      const file = join(dir, 'secrets', 'capability-key');
      expect(readFileSync(file, 'utf8')).toBe(first.capabilityKey);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
