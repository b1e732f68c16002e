#!/usr/bin/env bash
# tools/lint.sh [python]
# What `make lint` says, or its Python part alone, which `make check` runs too; all parts run, the
# exit status tells whether any complained.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
status=0
.venv/bin/ruff check . || status=1
.venv/bin/ruff format --check --quiet . || status=1
# models/ is iotune.models once installed; checked as a folder of its own here.
mapfile -t python < <(git ls-files -- '*.py')
[ ${#python[@]} -eq 0 ] || .venv/bin/python -m mypy "${python[@]}" || status=1
[ "${1:-}" != python ] || exit $status
git ls-files -z -- '*.c' '*.cpp' '*.h' '*.hpp' | xargs -0r clang-format --dry-run -Werror || status=1
cmake --preset tidy --log-level=NOTICE &&
  cmake --build --preset tidy || status=1
exit $status
