#!/bin/sh
# Starts the shop and keeps its log.
set -eu
cd "$(dirname "$0")/.."
mkdir -p logs
exec python3 -m shop.server 2>>logs/shop.log
