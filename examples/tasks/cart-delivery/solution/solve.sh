#!/bin/bash
set -eu
sed -i 's|^  return sum > freeFrom ? sum : sum + delivery;$|  return sum >= freeFrom ? sum : sum + delivery;|' /app/cart.js
