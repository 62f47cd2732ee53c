#!/bin/bash
# Usage: [LIMIT=PERCENT] alert.sh
# Reads lines of a disk name and a percentage; prints the disks that have reached the limit.
limit=${LIMIT:-80}
while read -r name percent; do
    if [ "$name" != total ] && [ "$percent" -gt "$limit" ]; then
        echo "$name"
    fi
done
