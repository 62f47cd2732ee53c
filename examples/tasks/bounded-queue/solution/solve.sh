#!/bin/bash
set -eu
sed -i 's|^    if (this\.items\.length > this\.capacity) return false;$|    if (this.items.length >= this.capacity) return false;|' /app/queue.js
sed -i 's|^    return this\.capacity + this\.items\.length;$|    return this.capacity - this.items.length;|' /app/queue.js
