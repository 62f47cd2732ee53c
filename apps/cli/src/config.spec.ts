import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

describe('readConfig', () => {
  it('takes flags before the environment', () => {
    const environment = { ESPALIER_KAFKA_BROKERS: 'a:1, b:2', ESPALIER_PREFIX: 'other', ESPALIER_DIR: '/var/plane' };
    expect(readConfig({}, environment)).toMatchObject({
      ...{ brokers: ['a:1', 'b:2'], prefix: 'other', dir: '/var/plane', objects: 'file:///var/plane/objects' },
    });
    expect(readConfig({ brokers: 'c:3', prefix: 'mine', dir: '/srv', json: true }, environment)).toMatchObject({
      ...{ brokers: ['c:3'], prefix: 'mine', dir: '/srv', json: true },
    });
  });

  it('names every bad key', () => {
    const bad = { ESPALIER_PROFILE: 'huge', ESPALIER_OBJECTS: 'nowhere' };
    expect(() => readConfig({}, bad)).toThrow(/ESPALIER_PROFILE.*ESPALIER_OBJECTS/);
  });

  it('takes an empty variable for none', () => {
    expect(readConfig({ dir: '/srv' }, { ESPALIER_KAFKA_BROKERS: '' }).brokers).toBeNull();
  });
});
