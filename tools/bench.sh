#!/usr/bin/env bash
# tools/bench.sh [NAME…]: run tests/bench/bench_NAME.py, or all of them, on the
# release build. Each prints its table and writes build/bench/NAME.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -eq 0 ]; then
  for file in tests/bench/bench_*.py; do
    name=${file##*/bench_}
    set -- "$@" "${name%.py}"
  done
fi
failed=()
for name in "$@"; do
  file=tests/bench/bench_$name.py
  if [ ! -e "$file" ]; then
    echo "bench: there is no $file; there are:" tests/bench/bench_*.py >&2
    exit 2
  fi
  .venv/bin/python "$file" --build build/release --out build/bench || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "bench: failed: ${failed[*]}" >&2; exit 1; }
