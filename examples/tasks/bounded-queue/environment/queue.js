/** A queue that holds `capacity` items. */
class Queue {
  constructor(capacity) {
    this.capacity = capacity;
    this.items = [];
  }

  /** Adds an item unless the queue is full; says whether it did. */
  push(item) {
    if (this.items.length > this.capacity) return false;
    this.items.push(item);
    return true;
  }

  /** How many more items fit. */
  room() {
    return this.capacity + this.items.length;
  }
}

module.exports = { Queue };
