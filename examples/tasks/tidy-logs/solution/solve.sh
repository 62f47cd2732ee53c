#!/bin/bash
set -eu
sed -i 's|^    if \[ "\$bytes" -ne 0 \]; then$|    if [ "$bytes" -eq 0 ]; then|' /app/tidy.sh
sed -i 's|^    elif \[ "\$bytes" -gt "\$size" \]; then$|    elif [ "$bytes" -ge "$size" ]; then|' /app/tidy.sh
