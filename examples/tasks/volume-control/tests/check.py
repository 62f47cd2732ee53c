"""Hidden checks. The program runs in a process of its own, so that nothing it does can pass for a result."""

import json
import subprocess
import sys

CASES = [
    ("clamp(5, 0, 10)", 5),
    ("clamp(-3, 0, 10)", 0),
    ("clamp(13, 0, 10)", 10),
    ("clamp(0, 0, 10)", 0),
    ("louder(4, 3, 0, 10)", 7),
    ("louder(9, 3, 0, 10)", 10),
    ("quieter(4, 3, 0, 10)", 1),
    ("quieter(1, 3, 0, 10)", 0),
]

CHILD = """
import json, runpy, sys
program = runpy.run_path("/app/volume.py")
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
