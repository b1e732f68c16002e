#!/usr/bin/env bash
# tools/bench.sh [NAME…]: run tests/bench/*/bench_NAME.py, or all of them, on
# build/dev. Each prints its table and writes build/bench/NAME.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -eq 0 ]; then
  mapfile -t files < <(find tests/bench -name 'bench_*.py' | sort -t/ -k4)
  for file in "${files[@]}"; do
    name=${file##*/bench_}
    set -- "$@" "${name%.py}"
  done
fi
failed=()
for name in "$@"; do
  file=$(find tests/bench -name "bench_$name.py")
  if [ -z "$file" ]; then
    echo "bench: there is no tests/bench/*/bench_$name.py; there are:" tests/bench/*/bench_*.py >&2
    exit 2
  fi
  .venv/bin/python tests/run.py "$file" --build build/dev --out build/bench || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "bench: failed: ${failed[*]}" >&2; exit 1; }
