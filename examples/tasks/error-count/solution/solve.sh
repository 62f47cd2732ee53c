#!/bin/bash
set -eu
sed -i 's|^    if \[ "\$level" != error \]; then$|    if [ "$level" == error ]; then|' /app/errors.sh
