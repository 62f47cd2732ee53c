#!/bin/bash
set -eu
sed -i 's|^  return Math\.max(cap, base \* 2 \*\* attempt);$|  return Math.min(cap, base * 2 ** attempt);|' /app/backoff.js
