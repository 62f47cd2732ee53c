#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { whenParentEnds } from './parent.mjs';
import { root, setup } from './setup.mjs';
import { nodeBinary, nodeEnvironment } from './steps/node-runtime.mjs';

/** `npm start [-- flags]`: setup, then the whole loop on this machine. Flags, signals and the exit code pass through. */
if (!(await setup())) process.exit(1);

const main = join(root, 'apps', 'cli', 'dist', 'main.js');
const child = spawn(nodeBinary(root), ['--enable-source-maps', main, 'up', '--demo', ...process.argv.slice(2)], {
  cwd: root,
  env: { ...nodeEnvironment(root), ESPALIER_STOP_WITH_PARENT: '1' },
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
whenParentEnds(() => child.kill('SIGTERM'));
child.once('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
child.once('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
