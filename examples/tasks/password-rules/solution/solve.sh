#!/bin/bash
set -eu
sed -i 's|^    return long_enough or mixed$|    return long_enough and mixed|' /app/passwords.py
