#!/bin/bash
# Hidden checks. The program runs in a process of its own, so that nothing it does can pass for a result.
checks=0
failed=0

expect() {
    checks=$((checks + 1))
    if [ "$2" != "$3" ]; then
        echo "$1: got '$2' instead of '$3'"
        failed=$((failed + 1))
    fi
}

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
count() {
    printf "$1" >"$directory/log"
    bash /app/errors.sh "$directory/log" 2>/dev/null
}

expect "some" "$(count 'error disk\ninfo start\nerror net\nwarning x\nerror y\n')" "3"
expect "none" "$(count 'info start\nwarning x\n')" "0"
expect "all" "$(count 'error a\nerror b\n')" "2"
expect "an empty log" "$(count '')" "0"
expect "the word elsewhere" "$(count 'info error\nerrors b\nerror c\n')" "1"

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
