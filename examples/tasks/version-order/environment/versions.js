/** The parts of a version such as "4.10.2". */
const parts = (version) => version.split('.').map(Number);

/** Whether the first version is newer than the second, which has as many parts. */
function isNewer(left, right) {
  const a = parts(left);
  const b = parts(right);
  for (const i of a.keys()) {
    if (a[i] === b[i]) return a[i] > b[i];
  }
  return false;
}

/** Whether both versions begin with the same number. */
function isCompatible(left, right) {
  const [a] = parts(left);
  const [b] = parts(right);
  return a === b;
}

module.exports = { isCompatible, isNewer };
