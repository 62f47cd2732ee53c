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
cat >"$directory/flaky" <<'END'
#!/bin/bash
# Succeeds at the run that its argument names.
echo run >>"$0.runs"
[ "$(wc -l <"$0.runs")" -ge "$1" ]
END
chmod +x "$directory/flaky"

# Prints the exit code and the number of runs.
attempts() {
    rm -f "$directory/flaky.runs"
    timeout 5 bash /app/retry.sh "$1" "$directory/flaky" "$2" >/dev/null 2>&1
    echo "$? $(wc -l <"$directory/flaky.runs")"
}

expect "never succeeds, limit 3" "$(attempts 3 50)" "1 3"
expect "never succeeds, limit 1" "$(attempts 1 50)" "1 1"
expect "succeeds at once" "$(attempts 3 1)" "0 1"
expect "succeeds at the last run" "$(attempts 3 3)" "0 3"
expect "succeeds too late" "$(attempts 4 5)" "1 4"

echo "$((checks - failed)) of $checks checks passed"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
