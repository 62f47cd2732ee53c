#!/bin/bash
# Usage: rotate.sh DIRECTORY KEEP
# Removes the oldest back-ups (backup-DATE.tar) until KEEP of them are left.
set -eu
directory=$1
keep=$2
number=$(ls "$directory"/backup-*.tar | wc -l)
for file in "$directory"/backup-*.tar; do
    if [ "$number" -ge "$keep" ]; then
        rm -- "$file"
        number=$((number - 1))
    fi
done
