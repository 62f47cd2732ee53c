import type { TaskFile } from '@espalier/tasks';
import { describe, expect, it } from 'vitest';
import { buildContext, placeCopy } from './context.ts';

const file = (path: string, content = path, mode: 0o644 | 0o755 = 0o644): TaskFile => ({
  path,
  mode,
  content: Buffer.from(content),
});
const context = [
  file('a.txt'),
  file('run.sh', '', 0o755),
  file('src/main.py'),
  file('src/lib/x.py'),
  file('src/lib/y.md'),
];
const copy = (sources: string[], target: string, chmod: string | null = null): Record<string, string> =>
  Object.fromEntries(
    placeCopy({ kind: 'copy', line: 3, sources, target, chmod }, context).map(({ path, mode }) => [
      path,
      mode.toString(8),
    ]),
  );

describe('placeCopy', () => {
  it('places files, and folders by their content', () => {
    expect(copy(['a.txt'], '/app/b.txt')).toEqual({ '/app/b.txt': '644' });
    expect(copy(['a.txt'], '/app/')).toEqual({ '/app/a.txt': '644' });
    expect(copy(['src'], '/app')).toEqual({ '/app/main.py': '644', '/app/lib/x.py': '644', '/app/lib/y.md': '644' });
    expect(copy(['a.txt', 'run.sh'], '/app', '700')).toEqual({ '/app/a.txt': '700', '/app/run.sh': '700' });
    expect(Object.keys(copy(['.'], '/w/'))).toHaveLength(5);
  });

  it('expands patterns within one level', () => {
    expect(copy(['src/*.py'], '/app/')).toEqual({ '/app/main.py': '644' });
    expect(copy(['s*'], '/app/')).toEqual({ '/app/main.py': '644', '/app/lib/x.py': '644', '/app/lib/y.md': '644' });
  });

  it('refuses what is not there or not inside', () => {
    expect(() => copy(['none'], '/x')).toThrow(/line 3: COPY none matches no file/);
    expect(() => copy(['../up'], '/x')).toThrow(/leaves environment/);
  });
});

describe('buildContext', () => {
  it('applies .dockerignore with exceptions', () => {
    const ignore = file('.dockerignore', '# comment\nsrc/lib\n!src/lib/y.md\n*.sh\n');
    expect(buildContext([...context, ignore]).map(({ path }) => path)).toEqual([
      'a.txt',
      'src/main.py',
      'src/lib/y.md',
      '.dockerignore',
    ]);
  });
});
