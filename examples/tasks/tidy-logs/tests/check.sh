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
for bytes in 0 1 9 10 11; do head -c "$bytes" /dev/zero >"$directory/b$bytes.log"; done
echo note >"$directory/notes.txt"
bash /app/tidy.sh "$directory" 10 >/dev/null 2>&1
expect "what is kept" "$(ls "$directory" | tr '\n' ' ')" "b1.log b9.log large notes.txt "
expect "what is moved" "$(ls "$directory/large" | tr '\n' ' ')" "b10.log b11.log "

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
