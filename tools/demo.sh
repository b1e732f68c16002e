#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ ! -e tools/demo.py ]; then
  echo "demo: tools/demo.py is not there yet" >&2
  exit 1
fi
exec .venv/bin/python tools/demo.py "$@"
