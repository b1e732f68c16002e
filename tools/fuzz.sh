#!/usr/bin/env bash
# tools/fuzz.sh SECONDS [TARGET…]: runs the libFuzzer targets of tests/fuzz, each for so long. What
# they find stays in build/fuzz/corpus, so that the next run goes on from there; an input that breaks
# one stays beside it, as TARGET-crash-….
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:?usage: tools/fuzz.sh SECONDS [TARGET…]}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then # all that tests/fuzz lists
  mapfile -t targets < <(find tests/fuzz -name CMakeLists.txt -exec \
    sed -n 's/^iotune_fuzz_test(\([a-z_]*\).*/\1/p' {} + | sort)
fi

if ! command -v clang++ >/dev/null; then
  echo "NOT VERIFIED: fuzz targets need clang++ with libFuzzer, and there is none here"
  exit 0
fi
cmake --preset fuzz --log-level=NOTICE &&
  cmake --build --preset fuzz --target "${targets[@]}" || exit 1

failed=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  # Traces as they are; the others learn their formats by what they encode themselves.
  if [ "$target" = fuzz_trace ]; then
    for trace in tests/data/v*/*.iotrace; do  # the same names in each version's folder
      version=${trace%/*}
      cp "$trace" "$corpus/${version##*/}-${trace##*/}"
    done
  fi
  program=$(find build/fuzz -name "$target" -type f -perm -u+x)
  if ! "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -max_len=16384 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="build/fuzz/corpus/$target-" \
    "$corpus" >"build/fuzz/$target.log" 2>&1; then
    echo "$target: see build/fuzz/$target.log"
    tail -n 20 "build/fuzz/$target.log"
    failed=1
  else
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log") inputs, no fault"
  fi
done
exit $failed
