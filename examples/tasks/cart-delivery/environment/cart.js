/** Total of a cart in cents. Delivery is free as soon as the goods reach `freeFrom`. */
function total(items, delivery, freeFrom) {
  const prices = items.map((item) => item.price * item.quantity);
  const sum = prices.reduce((whole, price) => whole + price);
  return sum > freeFrom ? sum : sum + delivery;
}

module.exports = { total };
