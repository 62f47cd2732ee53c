#!/bin/bash
set -eu
sed -i 's|^    return max(stock, wanted)$|    return min(stock, wanted)|' /app/stock.py
sed -i 's|^    return stock < threshold$|    return stock <= threshold|' /app/stock.py
