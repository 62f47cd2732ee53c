import { describe, expect, it } from 'vitest';
import { withoutLoginNoise } from './login-noise.ts';

describe('withoutLoginNoise', () => {
  it.each([
    ['bash: cannot set terminal process group (1): x\nbash: no job control in this shell\nerr\n', 'err'],
    ['Traceback (most recent call last):\n  File "x"\n\nModuleNotFoundError: no y\nkept\n', 'kept'],
    ['Traceback (most recent call last):\n  File "x"\nValueError: kept\n', 'ValueError: kept'],
    ['', ''],
    ['a\n\nb', 'a\n\nb'],
  ])('of %j leaves %j', (text, left) => expect(withoutLoginNoise(text)).toBe(left));
});
