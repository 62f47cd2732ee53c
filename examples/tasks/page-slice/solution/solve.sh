#!/bin/bash
set -eu
sed -i 's|^    start = (page + 1) \* per_page$|    start = (page - 1) * per_page|' /app/pages.py
