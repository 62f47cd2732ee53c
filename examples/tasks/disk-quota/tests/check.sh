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

quota() {
    bash /app/quota.sh "$@" 2>/dev/null
}

expect "plenty" "$(quota 10 5 100 20)" "fine"
expect "the margin is left" "$(quota 50 30 100 20)" "fine"
expect "less than the margin" "$(quota 51 30 100 20)" "warning"
expect "one is left" "$(quota 99 0 100 20)" "warning"
expect "nothing is left" "$(quota 60 40 100 20)" "full"
expect "beyond the limit" "$(quota 90 40 100 20)" "full"
expect "a wide margin" "$(quota 30 10 100 70)" "warning"
expect "shared alone" "$(quota 0 100 100 5)" "full"

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
