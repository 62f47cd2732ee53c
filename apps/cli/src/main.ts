#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Nothing of the plane is imported before the version is known: older Nodes cannot load it.
const NEEDED = 24;
const LEFT_OPEN_MS = 1_000;

if (Number(process.versions.node.split('.')[0]) >= NEEDED) await runHere();
else runOnBundledNode();

async function runHere(): Promise<void> {
  // kafkajs computes a negative timeout when nothing is pending; Node 24 warns about it, which helps nobody here.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== 'TimeoutNegativeWarning') process.stderr.write(`${warning.name}: ${warning.message}\n`);
  });
  // A reader that has seen enough (`| head`) closes the pipe: that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const { runCli } = await import('./program.ts');
  await runCli(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
    setExitCode: (code) => {
      process.exitCode = code;
    },
  });
  // A connection that something left open must not keep a finished command alive.
  setTimeout(() => process.exit(), LEFT_OPEN_MS).unref();
}

/** `node main.js` with an older Node: the one that the repository brings does the work. */
function runOnBundledNode(): void {
  const main = fileURLToPath(import.meta.url);
  const candidates = ['linux-x64', 'linux-arm64'].map((platform) =>
    fileURLToPath(new URL(`../../../node_modules/node-${platform}/bin/node`, import.meta.url)),
  );
  const node = candidates.find((path) => existsSync(path));
  if (node === undefined) {
    process.stderr.write(`espalier needs Node ${NEEDED}, this is ${process.versions.node}: run "npx espalier"\n`);
    process.exitCode = 2;
    return;
  }
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; what is sent to this process alone is passed on.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}
