#!/usr/bin/env node
// Stands in the repository, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) await import(main.href);
else {
  console.error('espalier is not built yet: run "npm run setup" first');
  process.exitCode = 1;
}
