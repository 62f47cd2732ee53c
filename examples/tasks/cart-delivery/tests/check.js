// Hidden checks. The program runs in a process of its own, so that nothing it does can pass for a result.
const { spawnSync } = require('node:child_process');

const cases = [
  ['total([{ price: 1000, quantity: 5 }], 490, 5000)', 5000],
  ['total([{ price: 1000, quantity: 4 }], 490, 5000)', 4490],
  ['total([{ price: 2000, quantity: 3 }, { price: 10, quantity: 1 }], 490, 5000)', 6010],
  ['total([{ price: 4999, quantity: 1 }], 490, 5000)', 5489],
  ['total([{ price: 1, quantity: 2 }, { price: 3, quantity: 4 }], 5, 50)', 19],
];

const child = `
const program = require('/app/cart.js');
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
