import { byPath, type TaskFile } from '../src/task-directory/task-files.ts';

/** Files of a small valid task; entries of `changes` replace or add files, null removes one. */
export function taskFilesOf(changes: Readonly<Record<string, string | null>> = {}): TaskFile[] {
  const contents: Record<string, string | null> = {
    'task.toml': '[task]\nname = "espalier/sample"\n',
    'instruction.md': 'Make /app/value say 2.\n',
    'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\nCOPY value /app/value\n',
    'environment/value': '1\n',
    'tests/test.sh':
      '#!/bin/bash\nif [ "$(cat /app/value)" = 2 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n',
    'solution/solve.sh': '#!/bin/bash\necho 2 >/app/value\n',
    ...changes,
  };
  return Object.entries(contents)
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .map(([path, text]): TaskFile => ({
      path,
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
      content: Buffer.from(text, 'utf8'),
    }))
    .sort(byPath);
}
