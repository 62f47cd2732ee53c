#!/bin/bash
set -eu
sed -i 's|^if \[ "\$#" -eq 2 \]; then$|if [ "$#" -ne 2 ]; then|' /app/put.sh
