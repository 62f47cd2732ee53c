import { mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFile } from './log-file.ts';

describe('LogFile', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'espalier-log-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('rotates under a process that goes on writing', () => {
    const log = new LogFile(join(dir, 'deep', 'a.log'), 10);
    const fd = log.open();
    writeSync(fd, 'first generation\n');
    log.rotateIfLarge();
    writeSync(fd, 'second\n');
    log.close(fd);
    expect(readFileSync(`${log.path}.1`, 'utf8')).toBe('first generation\n');
    expect(readFileSync(log.path, 'utf8')).toBe('second\n');
  });

  it('leaves a small file alone and appends to it', () => {
    const log = new LogFile(join(dir, 'a.log'), 1_000);
    for (const line of ['one\n', 'two\n']) {
      const fd = log.open();
      writeSync(fd, line);
      log.close(fd);
      log.rotateIfLarge();
    }
    expect(log.tail()).toBe('one\ntwo\n');
  });

  it('cuts its tail at the beginning of a line', () => {
    const log = new LogFile(join(dir, 'a.log'));
    expect(log.tail()).toBe('');
    const fd = log.open();
    writeSync(fd, 'a long first line\nsecond\nthird\n');
    log.close(fd);
    expect(log.tail(15)).toBe('second\nthird\n');
  });
});
