#!/bin/bash
set -eu
sed -i 's|^    if \[ "\$number" -ge "\$keep" \]; then$|    if [ "$number" -gt "$keep" ]; then|' /app/rotate.sh
