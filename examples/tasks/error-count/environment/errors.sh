#!/bin/bash
# Usage: errors.sh FILE
# Prints how many lines of a log begin with the level "error".
file=$1
total=0
while read -r level _; do
    if [ "$level" != error ]; then
        total=$((total + 1))
    fi
done <"$file"
echo "$total"
