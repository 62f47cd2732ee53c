#!/bin/bash
set -eu
sed -i 's|^    return by_four and not by_century and by_era$|    return by_four and not by_century or by_era|' /app/calendar_rules.py
