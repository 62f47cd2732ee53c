#!/bin/bash
set -eu
sed -i 's|^    if quantity > 10:$|    if quantity >= 10:|' /app/prices.py
