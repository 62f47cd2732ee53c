#!/bin/bash
set -eu
sed -i 's|^        if amount > self\.balance - self\.overdraft:$|        if amount > self.balance + self.overdraft:|' /app/bank.py
