#!/bin/bash
# 1 when every check passed, else 0.
mkdir -p /logs/verifier
if node /tests/check.js; then
    echo 1 >/logs/verifier/reward.txt
else
    echo 0 >/logs/verifier/reward.txt
fi
