#!/bin/bash
set -eu
sed -i 's|^    if (a\[i\] === b\[i\]) return a\[i\] > b\[i\];$|    if (a[i] !== b[i]) return a[i] > b[i];|' /app/versions.js
