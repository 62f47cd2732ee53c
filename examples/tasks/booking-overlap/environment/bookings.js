/** Stays are day numbers; the day of departure is free again. */
function overlaps(a, b) {
  return a.from < b.until || b.from < a.until;
}

function isFree(bookings, stay) {
  return !bookings.some((booking) => overlaps(booking, stay));
}

function nights(stay) {
  return stay.until - stay.from;
}

module.exports = { isFree, nights, overlaps };
