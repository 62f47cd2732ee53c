#!/bin/bash
set -eu
sed -i 's|^        if name\.lower() in LEVELS and LEVELS\.index(name\.lower()) > wanted:$|        if name.lower() in LEVELS and LEVELS.index(name.lower()) >= wanted:|' /app/loglevel.py
