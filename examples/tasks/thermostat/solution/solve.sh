#!/bin/bash
set -eu
sed -i '/^        elif temperature > self\.high:$/{n;s|^            self\.heating = True$|            self.heating = False|}' /app/thermostat.py
