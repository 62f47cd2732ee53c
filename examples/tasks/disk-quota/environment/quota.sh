#!/bin/bash
# Usage: quota.sh OWN SHARED LIMIT MARGIN
# Prints "full" when nothing is left, "warning" when less than MARGIN is left, else "fine".
limit=$3
margin=$4
used=$(($1 + $2))
left=$((limit + used))
if [ "$used" -gt "$limit" ]; then
    echo full
elif [ "$left" -le "$margin" ]; then
    echo warning
else
    echo fine
fi
