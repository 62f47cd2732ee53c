#!/bin/bash
set -eu
sed -i 's|^    value = max(value, high)$|    value = min(value, high)|' /app/volume.py
sed -i 's|^    return min(value, low)$|    return max(value, low)|' /app/volume.py
