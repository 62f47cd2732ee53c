#!/bin/bash
set -eu
sed -i 's|^  return a\.from < b\.until \|\| b\.from < a\.until;$|  return a.from < b.until \&\& b.from < a.until;|' /app/bookings.js
