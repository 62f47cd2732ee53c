import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '@espalier/local-plane';
import { batchLatency } from './batch-latency/batch-latency.ts';
import { demoLoop } from './demo-loop/demo-loop.ts';
import { load, machine } from './measure/machine.ts';
import { ratioOf, tableOf, type BenchOptions, type BenchResult } from './report/figures.ts';

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<BenchResult>>> = {
  'batch-latency': batchLatency,
  'demo-loop': demoLoop,
};

const USAGE = `npm run bench [-- --only NAME] [--json FILE]

Starts the plane in a temporary folder, measures, prints a table, writes JSON, stops everything.
  --only NAME   one of ${Object.keys(benches).join(', ')}; may be given more than once
  --json FILE   also write the results there (always: .espalier/bench/<time>.json)
  --profile DIR write a CPU profile of every service there (open in Chrome's DevTools); costs a little speed
docs/benchmarks.md says how each figure is measured.`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      json: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const chosen = values.only ?? Object.keys(benches);
  const unknown = chosen.filter((name) => benches[name] === undefined);
  if (unknown.length > 0) {
    console.error(`no benchmark is called ${unknown.join(', ')}\n\n${USAGE}`);
    return 2;
  }
  const startedAt = new Date();
  const loadBefore = load();
  const results: BenchResult[] = [];
  for (const name of chosen) {
    const result = await benches[name]?.({
      say: (line) => console.error(`${name}: ${line}`),
      serviceEnv:
        values.profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(values.profile)}` },
    });
    if (result === undefined) continue;
    results.push(result);
    console.log(`\n${tableOf(result)}`);
  }
  const report = {
    started_at: startedAt.toISOString(),
    machine: machine(),
    load_before: loadBefore,
    load_after: load(),
    results: results.map((result) => ({
      ...result,
      figures: result.figures.map((figure) => ({ ...figure, ratio: ratioOf(figure) ?? null })),
    })),
  };
  const text = `${JSON.stringify(report, null, 2)}\n`;
  const dir = join(repositoryRoot(), '.espalier', 'bench');
  mkdirSync(dir, { recursive: true });
  const files = [
    join(dir, `${startedAt.toISOString().replaceAll(':', '-')}.json`),
    ...(values.json === undefined ? [] : [values.json]),
  ];
  for (const file of files) writeFileSync(file, text);
  console.log(
    `\nload average before ${loadBefore.toFixed(1)}, after ${report.load_after.toFixed(1)}; written to ${files.join(', ')}`,
  );
  return 0;
}

process.exitCode = await main();
