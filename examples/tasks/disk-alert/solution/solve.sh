#!/bin/bash
set -eu
sed -i 's|^    if \[ "\$name" != total \] && \[ "\$percent" -gt "\$limit" \]; then$|    if [ "$name" != total ] \&\& [ "$percent" -ge "$limit" ]; then|' /app/alert.sh
