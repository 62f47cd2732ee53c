#!/bin/bash
set -eu
sed -i 's|^left=\$((limit + used))$|left=$((limit - used))|' /app/quota.sh
sed -i 's|^if \[ "\$used" -gt "\$limit" \]; then$|if [ "$used" -ge "$limit" ]; then|' /app/quota.sh
sed -i 's|^elif \[ "\$left" -le "\$margin" \]; then$|elif [ "$left" -lt "$margin" ]; then|' /app/quota.sh
