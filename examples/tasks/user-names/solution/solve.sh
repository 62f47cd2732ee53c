#!/bin/bash
set -eu
sed -i 's|^    return name\.strip()\.upper()$|    return name.strip().lower()|' /app/usernames.py
sed -i 's|^    return len(name) >= shortest and len(name) < longest$|    return len(name) >= shortest and len(name) <= longest|' /app/usernames.py
