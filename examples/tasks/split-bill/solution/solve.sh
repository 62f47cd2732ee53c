#!/bin/bash
set -eu
sed -i 's|^    return \[base + 1 if person <= odd else base for person in range(people)\]$|    return [base + 1 if person < odd else base for person in range(people)]|' /app/bill.py
