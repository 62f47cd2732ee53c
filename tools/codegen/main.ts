/**
 * `generate` writes libs/contracts/src/generated and docs/events.md; `check` fails when they are not current, when a schema
 * breaks a rule of the house, or when it cannot be read with (or read) every schema ever released (FULL_TRANSITIVE);
 * `release` adds the current schemas to schemas/history.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compatibilityProblems } from '@espalier/avro';
import * as prettier from 'prettier';
import { eventsDocument } from './markdown.ts';
import { lintSchemas, loadSchemas } from './schemas.ts';
import { catalogueSource, mapsSource, typesSource } from './typescript.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const schemasDir = join(root, 'schemas');
const historyDir = join(schemasDir, 'history');

/** Released schemas by name, oldest first. */
function loadHistory(): Map<string, string[]> {
  const history = new Map<string, string[]>();
  if (!existsSync(historyDir)) return history;
  for (const release of readdirSync(historyDir).sort((a, b) => Number(a) - Number(b))) {
    const set = loadSchemas(join(historyDir, release));
    for (const [name, schema] of [...set.topics, ...set.bodies]) {
      const text = JSON.stringify(schema);
      const known = history.get(name) ?? [];
      if (!known.includes(text)) history.set(name, [...known, text]);
    }
  }
  return history;
}

async function outputs(): Promise<Map<string, string>> {
  const set = loadSchemas(schemasDir);
  const history = loadHistory();
  for (const [name, schema] of [...set.topics, ...set.bodies]) {
    const past = (history.get(name) ?? []).filter((text) => text !== JSON.stringify(schema));
    if (past.length > 0) history.set(name, past);
    else history.delete(name);
  }
  const format = async (path: string, text: string): Promise<[string, string]> => [
    path,
    await prettier.format(text, { parser: 'typescript', singleQuote: true, printWidth: 120 }),
  ];
  return new Map([
    await format('libs/contracts/src/generated/types.ts', typesSource(set)),
    await format('libs/contracts/src/generated/maps.ts', mapsSource(set, history)),
    await format('libs/contracts/src/generated/catalogue.ts', catalogueSource(set)),
    ['docs/events.md', `${eventsDocument(set).trimEnd()}\n`],
  ]);
}

const command = process.argv[2];
switch (command) {
  case 'generate': {
    const problems = lintSchemas(loadSchemas(schemasDir));
    for (const problem of problems) console.error(problem);
    for (const [path, text] of await outputs()) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
      console.log(`wrote ${path}`);
    }
    process.exitCode = problems.length > 0 ? 1 : 0;
    break;
  }
  case 'check': {
    const set = loadSchemas(schemasDir);
    const problems = lintSchemas(set);
    for (const [path, text] of await outputs())
      if (!existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text)
        problems.push(`${path} is not current: run npm run contracts:generate`);
    const history = loadHistory();
    for (const [name, schema] of [...set.topics, ...set.bodies])
      problems.push(...compatibilityProblems(name, JSON.stringify(schema), history.get(name) ?? []));
    for (const name of history.keys())
      if (!set.topics.has(name) && !set.bodies.has(name)) problems.push(`${name} was released and may not be removed`);
    for (const problem of problems) console.error(problem);
    console.log(problems.length === 0 ? 'contracts: current and compatible' : `contracts: ${problems.length} problems`);
    process.exitCode = problems.length > 0 ? 1 : 0;
    break;
  }
  case 'release': {
    const releases = existsSync(historyDir) ? readdirSync(historyDir).map(Number) : [];
    const next = Math.max(0, ...releases) + 1;
    const target = join(historyDir, String(next));
    mkdirSync(target, { recursive: true });
    for (const entry of readdirSync(schemasDir))
      if (entry !== 'history') cpSync(join(schemasDir, entry), join(target, entry), { recursive: true });
    console.log(`released schemas/history/${next}`);
    break;
  }
  default:
    console.error('usage: main.ts generate|check|release');
    process.exitCode = 2;
}
