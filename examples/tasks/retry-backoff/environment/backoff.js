/** Pause before a retry in milliseconds: doubles with each attempt, counted from zero, up to the cap. */
function pause(attempt, base, cap) {
  return Math.max(cap, base * 2 ** attempt);
}

module.exports = { pause };
