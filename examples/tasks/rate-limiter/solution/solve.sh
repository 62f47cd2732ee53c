#!/bin/bash
set -eu
sed -i 's|^        if len(self\.calls) <= self\.limit:$|        if len(self.calls) < self.limit:|' /app/limiter.py
