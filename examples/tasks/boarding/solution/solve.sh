#!/bin/bash
set -eu
sed -i 's|^    return has_ticket or seats > queued$|    return has_ticket and seats > queued|' /app/boarding.py
sed -i 's|^    return seats + boarded + left$|    return seats - boarded + left|' /app/boarding.py
sed -i 's|^    return max(seats, waiting)$|    return min(seats, waiting)|' /app/boarding.py
