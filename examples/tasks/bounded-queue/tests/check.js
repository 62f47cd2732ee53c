// Hidden checks. The program runs in a process of its own, so that nothing it does can pass for a result.
const { spawnSync } = require('node:child_process');

const cases = [
  ["((q) => [q.push('a'), q.push('b'), q.push('c'), q.items.length])(new Queue(2))", [true, true, false, 2]],
  ["((q) => [q.room(), q.push('a'), q.room(), q.push('b'), q.room()])(new Queue(2))", [2, true, 1, true, 0]],
  ["new Queue(0).push('a')", false],
  ['new Queue(3).room()', 3],
];

const child = `
const program = require('/app/queue.js');
const names = Object.keys(program);
const results = JSON.parse(process.argv[1]).map((call) => {
  try {
    return new Function(...names, 'return ' + call)(...names.map((name) => program[name]));
  } catch (error) {
    return 'threw ' + error.name;
  }
});
console.log(JSON.stringify(results));
`;

const calls = JSON.stringify(cases.map(([call]) => call));
const ran = spawnSync(process.execPath, ['-e', child, calls], { encoding: 'utf8', timeout: 10000 });
if (ran.status !== 0) {
  console.log(`the program does not run: ${ran.stderr}`);
  process.exit(1);
}
const results = JSON.parse(ran.stdout.trim().split('\n').at(-1));
const failed = cases.filter(([call, expected], i) => {
  const same = JSON.stringify(results[i]) === JSON.stringify(expected);
  if (!same) console.log(`${call} gives ${JSON.stringify(results[i])} instead of ${JSON.stringify(expected)}`);
  return !same;
});
console.log(`${cases.length - failed.length} of ${cases.length} checks passed`);
process.exit(failed.length === 0 && results.length === cases.length ? 0 : 1);
