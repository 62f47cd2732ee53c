import { describe, expect, it } from 'vitest';
import { cpuCores, memoryBytes } from './quantities.ts';

describe('quantities', () => {
  it.each([
    ['16Gi', 16 * 2 ** 30],
    ['512Mi', 512 * 2 ** 20],
    ['1024Ki', 2 ** 20],
    ['1048576', 2 ** 20],
    ['0.5Gi', 2 ** 29],
    ['1G', 1e9],
  ])('reads %s of memory', (text, bytes) => expect(memoryBytes(text)).toBe(bytes));

  it.each([
    ['4', 4],
    ['0.5', 0.5],
    ['500m', 0.5],
    ['100m', 0.1],
    ['1e3', 1000],
  ])('reads %s of CPU', (text, cores) => expect(cpuCores(text)).toBe(cores));

  it.each(['1Pi', '1Ei', '1u', '100m', '1e3', '0.5', 'x', ''])('refuses %j of memory', (text) => {
    expect(() => memoryBytes(text)).toThrow(/not understood/);
  });
});
