"""Hidden checks. The program runs in a process of its own, so that nothing it does can pass for a result."""

import json
import subprocess
import sys

CASES = [
    ("(lambda a: [a.withdraw(120), a.balance, a.withdraw(30), a.balance, a.withdraw(1), a.balance])(Account(100, 50))", [True, -20, True, -50, False, -50]),
    ("(lambda a: [a.withdraw(151), a.balance, a.withdraw(150), a.balance])(Account(100, 50))", [False, 100, True, -50]),
    ("(lambda a: [a.withdraw(60), a.withdraw(10), a.balance])(Account(60, 0))", [True, False, 0]),
]

CHILD = """
import json, runpy, sys
program = runpy.run_path("/app/bank.py")
results = []
for call in json.loads(sys.argv[1]):
    try:
        results.append(eval(call, dict(program)))
    except Exception as error:
        results.append("raised " + type(error).__name__)
print(json.dumps(results))
"""

calls = json.dumps([call for call, _ in CASES])
child = subprocess.run(
    [sys.executable, "-I", "-B", "-c", CHILD, calls], capture_output=True, text=True, timeout=10
)
if child.returncode:
    sys.exit("the program does not run: " + child.stderr)
results = json.loads(child.stdout.splitlines()[-1])
if len(results) != len(CASES):
    sys.exit("some checks did not run")
failed = 0
for (call, expected), result in zip(CASES, results):
    # As JSON, so that 1 is not True.
    if json.dumps(result) != json.dumps(expected):
        print(f"{call} gives {result!r} instead of {expected!r}")
        failed += 1
print(f"{len(CASES) - failed} of {len(CASES)} checks passed")
sys.exit(1 if failed else 0)
