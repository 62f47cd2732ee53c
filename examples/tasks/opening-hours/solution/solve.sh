#!/bin/bash
set -eu
sed -i 's|^    return hour >= opens and hour < closes$|    return hour >= opens or hour < closes|' /app/opening.py
