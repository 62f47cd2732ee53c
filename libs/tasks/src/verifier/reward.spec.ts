import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RewardError } from '../errors.ts';
import { parseRewards, scoreOf } from './reward.ts';

const codeOf = (act: () => unknown): string | undefined => {
  try {
    act();
  } catch (error) {
    if (error instanceof RewardError) return error.code;
    throw error;
  }
  return undefined;
};

describe('parseRewards', () => {
  it.each([
    ['1', 1],
    ['0\n', 0],
    [' 0.25 ', 0.25],
    ['+1e-3', 0.001],
    ['.5', 0.5],
    ['5.', 5],
    ['-2', -2],
    ['1_000', 1000],
  ])('reads reward.txt %j as Python does', (text, reward) => {
    expect(parseRewards({ json: null, text })).toEqual({ reward });
  });

  it.each([
    ['', 'REWARD_FILE_EMPTY'],
    ['\n', 'REWARD_UNPARSABLE'],
    ['pass', 'REWARD_UNPARSABLE'],
    ['1 1', 'REWARD_UNPARSABLE'],
    ['0x1', 'REWARD_UNPARSABLE'],
    ['1,5', 'REWARD_UNPARSABLE'],
    ['nan', 'REWARD_NOT_FINITE'],
    ['-Infinity\n', 'REWARD_NOT_FINITE'],
    ['1e999', 'REWARD_NOT_FINITE'],
  ])('refuses reward.txt %j as %s', (text, code) => {
    expect(codeOf(() => parseRewards({ json: null, text }))).toBe(code);
  });

  it.each([
    ['', 'REWARD_FILE_EMPTY'],
    ['{', 'REWARD_UNPARSABLE'],
    ['1', 'REWARD_UNPARSABLE'],
    ['[1]', 'REWARD_UNPARSABLE'],
    ['null', 'REWARD_UNPARSABLE'],
    ['{"reward": "1"}', 'REWARD_UNPARSABLE'],
    ['{"reward": null}', 'REWARD_UNPARSABLE'],
    ['{"reward": NaN}', 'REWARD_NOT_FINITE'],
    ['{"reward": -Infinity}', 'REWARD_NOT_FINITE'],
    ['{"reward": 1e309}', 'REWARD_NOT_FINITE'],
  ])('refuses reward.json %j as %s, though there is a good reward.txt', (json, code) => {
    expect(codeOf(() => parseRewards({ json, text: '1' }))).toBe(code);
  });

  it('takes several rewards from reward.json, which wins', () => {
    expect(parseRewards({ json: '{"a": 0.5, "b": 2, "c": true}', text: '1' })).toEqual({ a: 0.5, b: 2, c: 1 });
  });

  it('misses both files', () => {
    expect(codeOf(() => parseRewards({ json: null, text: null }))).toBe('REWARD_FILE_MISSING');
  });

  it('gives a finite number or a coded error for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String)), (text) => {
        const code = codeOf(() => {
          expect(Number.isFinite(parseRewards({ json: null, text }).reward)).toBe(true);
        });
        expect(code === undefined || code.startsWith('REWARD_')).toBe(true);
      }),
    );
  });
});

describe('scoreOf', () => {
  it('takes the reward asked for, else "reward", else the only one', () => {
    expect(scoreOf({ reward: 1, speed: 0.5 })).toBe(1);
    expect(scoreOf({ reward: 1, speed: 0.5 }, 'speed')).toBe(0.5);
    expect(scoreOf({ speed: 0.5 })).toBe(0.5);
  });

  it('does not guess', () => {
    expect(codeOf(() => scoreOf({ a: 1, b: 0 }))).toBe('REWARD_KEY_MISSING');
    expect(codeOf(() => scoreOf({}))).toBe('REWARD_KEY_MISSING');
    expect(codeOf(() => scoreOf({ reward: 1 }, 'speed'))).toBe('REWARD_KEY_MISSING');
    expect(codeOf(() => scoreOf({ a: 1 }, 'constructor'))).toBe('REWARD_KEY_MISSING');
  });
});
