import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { repositoryRoot } from '@espalier/local-plane';
import { LoopSession } from './support/loop-session.ts';

const MINUTES = 60_000;
const examples = join(repositoryRoot(), 'examples', 'tasks');

let session: LoopSession;
beforeAll(async () => {
  session = await LoopSession.start({ services: ['sandbox-manager'] });
}, 3 * MINUTES);
afterAll(() => session.stop(), MINUTES);

it(
  'proves every example task in real sandboxes: the solution scores 1, doing nothing scores 0, twice the same',
  async () => {
    const tasks = readdirSync(examples, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(tasks.length).toBeGreaterThanOrEqual(24);
    const checked = await session.cli('tasks', 'check', ...tasks.map((task) => join(examples, task.name)), '--json');
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    expect(checked.stdout.trim().split('\n')).toHaveLength(tasks.length);
  },
  10 * MINUTES,
);
