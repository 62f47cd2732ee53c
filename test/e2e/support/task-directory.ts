import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What is odd about a task; the rest is a task that its solution solves at once. */
export interface TaskOddities {
  /** Body of tests/test.sh. */
  readonly test?: string;
  /** Body of solution/solve.sh. */
  readonly solution?: string;
  readonly verifierSeconds?: number;
  readonly agentSeconds?: number;
}

const SOLVED = 'mkdir -p /logs/verifier; if [ -f /app/done ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt';

/** Writes a task directory `<dir>/<name>` and gives its path. All of them share one image. */
export function writeTask(dir: string, name: string, odd: TaskOddities = {}): string {
  const root = join(dir, name);
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`, { mode: 0o755 });
  };
  put(
    'task.toml',
    `schema_version = "1.4"
artifacts = ["/app"]

[task]
name = "espalier/${name}"

[agent]
timeout_sec = ${(odd.agentSeconds ?? 60).toFixed(1)}

[verifier]
timeout_sec = ${(odd.verifierSeconds ?? 60).toFixed(1)}
environment_mode = "separate"

[environment]
network_mode = "no-network"`,
  );
  put('instruction.md', 'Write the word yes to `/app/done`.');
  put('environment/Dockerfile', 'FROM debian:bookworm-slim\nWORKDIR /app');
  put('tests/test.sh', `#!/bin/bash\n${odd.test ?? SOLVED}`);
  put('solution/solve.sh', `#!/bin/bash\n${odd.solution ?? 'echo yes >/app/done'}`);
  return root;
}
