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
cd "$directory" || exit 1
echo content >source

put() {
    bash /app/put.sh "$@" >/dev/null 2>&1
    echo "$?"
}

expect "two arguments" "$(put source target)" "0"
expect "the copy" "$(cat target 2>/dev/null)" "content"
expect "no source" "$(put absent other)" "1"
expect "no argument" "$(put)" "2"
expect "one argument" "$(put source)" "2"
expect "three arguments" "$(put source third more)" "2"
expect "no stray copy" "$(ls | tr '\n' ' ')" "source target "

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
