#!/bin/bash
# Usage: put.sh SOURCE TARGET
# Copies a file. Ends with 2 when it is not given two arguments, with 1 when there is no source.
if [ "$#" -eq 2 ]; then
    echo "usage: put.sh SOURCE TARGET"
    exit 2
fi
if [ ! -f "$1" ]; then
    echo "put.sh: no such file: $1"
    exit 1
fi
cp -- "$1" "$2"
