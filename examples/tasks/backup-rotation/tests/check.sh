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

rotated() {
    local directory
    directory=$(mktemp -d)
    for day in $2; do echo data >"$directory/backup-2024-01-$day.tar"; done
    echo note >"$directory/notes.txt"
    bash /app/rotate.sh "$directory" "$1" >/dev/null 2>&1
    ls "$directory" | tr '\n' ' '
    rm -rf "$directory"
}

expect "five, keep three" "$(rotated 3 '01 02 03 04 05')" "backup-2024-01-03.tar backup-2024-01-04.tar backup-2024-01-05.tar notes.txt "
expect "three, keep three" "$(rotated 3 '01 02 03')" "backup-2024-01-01.tar backup-2024-01-02.tar backup-2024-01-03.tar notes.txt "
expect "two, keep three" "$(rotated 3 '07 08')" "backup-2024-01-07.tar backup-2024-01-08.tar notes.txt "
expect "four, keep one" "$(rotated 1 '10 11 12 13')" "backup-2024-01-13.tar notes.txt "
expect "five, keep two" "$(rotated 2 '01 02 03 04 05')" "backup-2024-01-04.tar backup-2024-01-05.tar notes.txt "

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
