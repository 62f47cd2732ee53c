import { describe, expect, it } from 'vitest';
import { harnessConfigHash, harnessFor, harnessNames } from './harness-registry.ts';

describe('harnessFor', () => {
  it('finds a harness by name and by its pinned version', () => {
    expect(harnessFor('mini').name).toBe('mini');
    expect(harnessFor('oracle', '1').name).toBe('oracle');
  });

  it('names the known ones', () => {
    expect(() => harnessFor('minni')).toThrow('There is no harness "minni"; known: mini, oracle');
    expect(() => harnessFor('constructor')).toThrow('There is no harness');
    expect(harnessNames()).toEqual(['mini', 'oracle']);
  });

  it('refuses another version', () => {
    expect(() => harnessFor('mini', '0')).toThrow('Harness "mini" is here in version 1, not 0');
  });
});

describe('harnessConfigHash', () => {
  const mini = harnessFor('mini');

  it('is the same for options that mean the same', () => {
    const hash = harnessConfigHash(mini, '{}');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(harnessConfigHash(mini, '')).toBe(hash);
    expect(harnessConfigHash(mini, '{"stream": false, "max_turns": 50}')).toBe(hash);
    expect(harnessConfigHash(mini, '{"max_turns":50,"stream":false}')).toBe(hash);
  });

  it('differs by options, harness and version', () => {
    const hash = harnessConfigHash(mini, '{}');
    expect(harnessConfigHash(mini, '{"max_turns": 51}')).not.toBe(hash);
    expect(harnessConfigHash(harnessFor('oracle'), '{}')).not.toBe(hash);
    expect(harnessConfigHash({ ...mini, version: '2' }, '{}')).not.toBe(hash);
  });

  it('refuses options that the harness does not know', () => {
    expect(() => harnessConfigHash(mini, '{"max_turn": 3}')).toThrow(/Harness "mini": .*max_turn/);
    expect(() => harnessConfigHash(mini, '{"max_turns": 0}')).toThrow(/max_turns/);
    expect(() => harnessConfigHash(mini, '{')).toThrow('its options are not JSON');
    expect(() => harnessConfigHash(harnessFor('oracle'), '{"a": 1}')).toThrow(/Harness "oracle"/);
  });
});
