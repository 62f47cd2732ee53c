#!/bin/bash
# Usage: tidy.sh DIRECTORY SIZE
# Removes empty logs; moves logs of SIZE bytes or more to DIRECTORY/large.
directory=$1
size=$2
mkdir -p "$directory/large"
for file in "$directory"/*.log; do
    bytes=$(wc -c <"$file")
    if [ "$bytes" -ne 0 ]; then
        rm -- "$file"
    elif [ "$bytes" -gt "$size" ]; then
        mv -- "$file" "$directory/large/"
    fi
done
