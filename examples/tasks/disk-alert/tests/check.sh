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

alert() {
    printf '%s\n' "a 79" "b 80" "c 81" "d 50" "e 100" "total 99" | env "$@" bash /app/alert.sh 2>/dev/null | tr '\n' ' '
}

expect "the usual limit" "$(alert)" "b c e "
expect "a limit of 50" "$(alert LIMIT=50)" "a b c d e "
expect "a limit of 100" "$(alert LIMIT=100)" "e "
expect "a limit of 81" "$(alert LIMIT=81)" "c e "

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
