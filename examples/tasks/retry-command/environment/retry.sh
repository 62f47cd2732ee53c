#!/bin/bash
# Usage: retry.sh LIMIT COMMAND...
# Runs a command until it succeeds, LIMIT times at most. Ends with 1 when it never does.
limit=$1
shift
attempt=1
until "$@"; do
    if [ "$attempt" -gt "$limit" ]; then
        exit 1
    fi
    attempt=$((attempt + 1))
done
