#!/bin/bash
set -eu
sed -i 's|^    if \[ "\$attempt" -gt "\$limit" \]; then$|    if [ "$attempt" -ge "$limit" ]; then|' /app/retry.sh
