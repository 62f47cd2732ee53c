#!/bin/bash
set -eu
sed -i 's|^    return min(cap, (days + grace) \* rate)$|    return min(cap, (days - grace) * rate)|' /app/fines.py
