#!/usr/bin/env bash
# tools/check.sh quick|check|soak
# Runs every step even after a failed one (only a failed build ends the native part),
# so that one run tells everything, and ends with a summary: what each step took, what
# printed NOT VERIFIED, and one plain line of totals. Logs: build/check/.
# NOT VERIFIED fails `soak`, which is for machines that can verify everything; what none can
# verify stands in tests/not_verifiable.txt.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite=${1:-check}

# A user's own settings must not decide what the tests see, nor the tests write into
# the user's database and traces.
for name in ${!IOTUNE_@} LD_PRELOAD PYTHONHOME PYTHONPATH GTEST_FILTER PYTEST_ADDOPTS CTEST_OUTPUT_ON_FAILURE; do
  unset "$name"
done
results=build/check
rm -rf "$results"
mkdir -p "$results/home"
for kind in DATA STATE CONFIG CACHE; do
  export "XDG_${kind}_HOME=$PWD/$results/home/${kind,,}"
done

# Drawn cases of the unit tests: all of them, or some.
[ "$suite" != soak ] || export IOTUNE_TEST_FULL=1

python=.venv/bin/python
steps=()
step() { # name command…
  local name=$1 status=0 began=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" || status=$?
  steps+=("$status $((SECONDS - began)) $name")
  return $status
}

native() { # preset target…
  cmake --preset "$1" -U 'SKBUILD*' --log-level=NOTICE &&
    cmake --build --preset "$1" --target "${@:2}"
}

# --no-tests=error: a suite that ran nothing has not passed.
# The sizes: NOT VERIFIED lines of passing tests are read from these files.
run_ctest() { # directory junit [arguments]
  ctest --test-dir "$1" --output-on-failure -j2 --no-tests=error \
    --test-output-size-passed 1000000 --output-junit "$PWD/$results/$2.xml" "${@:3}"
}

sanitized_ctest() {
  ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    run_ctest build/asan/tests/unit asan -L unit
}

# Layouts read back from CephFS itself. Where there can be none the test bed says NOT VERIFIED.
striping_on_cephfs() {
  local status=0 ours=
  if ! tests/testbed/cephfs status >/dev/null 2>&1; then
    tests/testbed/cephfs up || status=$?
    ours=yes
  fi
  [ "$status" -ne 77 ] || return 0
  [ "$status" -ne 0 ] || IOTUNE_TEST_CEPHFS=${IOTUNE_TESTBED:-/var/tmp/iotune-cephfs}/mnt/narrow \
    run_ctest build/dev ceph -R '^mpi\.striping\.ceph$' || status=$?
  [ -z "$ours" ] || tests/testbed/cephfs down
  return "$status"
}

# Of a command that writes no JUnit file: what it prints is read for NOT VERIFIED.
logged() { # log command…
  "${@:2}" 2>&1 | tee "$results/$1.log"
}

run_pytest() { # junit [arguments]
  "$python" -m pytest -q -ra --junitxml="$results/$1.xml" -o junit_suite_name="$1" "${@:2}"
}

quick_cases() {
  run_ctest build/dev quick -R "^($(grep -v '^#' tests/quick.txt | paste -sd'|'))\$"
}

case $suite in
  quick | check | soak) ;;
  *)
    echo "check.sh: unknown suite '$suite' (quick, check, soak)" >&2
    exit 2
    ;;
esac
# Before the build, which compiles what is there of them.
[ "$suite" = quick ] || step "programs of others" tools/setup.sh companions
[ "$suite" != soak ] || step "a compiler for AArch64, a Slurm, a browser, clang, HDF5 2.2 in parallel, packaging tools, a zoo, programs of netCDF" tools/setup.sh cross batch browser fuzz parallel-hdf5 packaging zoo netcdf
# First, because some ctests run the installed command. `quick` takes what is installed, if anything.
if [ "$suite" != quick ] || [ ! -x .venv/bin/iotune ]; then
  step "install into .venv" tools/setup.sh package
fi

case $suite in
  quick)
    step "build (preset dev)" native dev all &&
      step "ctest: unit" run_ctest build/dev unit -L unit &&
      step "ctest: a case of each room" quick_cases
    step "pytest: structure" run_pytest structure -n 2 tests/structure
    ;;
  check)
    step "build (preset dev)" native dev all && step "ctest" run_ctest build/dev ctest -LE soak
    step "pytest: what starts MPI" run_pytest mpi -m "mpi and not soak" tests/python tests/zoo
    step "pytest: the rest" run_pytest python -n 2 --dist loadfile -m "not mpi and not soak" \
      tests/structure tests/python tests/zoo
    step "ruff and mypy" tools/lint.sh python
    ;;
  soak)
    step "build (preset dev)" native dev all && step "ctest: soak" run_ctest build/dev ctest -L soak
    # Only what lies below tests/unit, and what that links: sanitizers are not for the preload.
    step "build (preset asan)" native asan tests/unit/all && step "ctest under sanitizers" sanitized_ctest
    step "ctest: striping on CephFS" logged cephfs striping_on_cephfs
    step "pytest: soak" run_pytest python -m soak tests/python
    # All of it: those of `make check`, too.
    step "pytest: zoo" run_pytest zoo -m "" tests/zoo
    step "fuzz targets" logged fuzz tools/fuzz.sh 60
    ;;
esac

printf '\n== summary\n'
failed=0
for line in "${steps[@]}"; do
  read -r status seconds name <<<"$line"
  word=ok
  [ "$status" -eq 0 ] || { word=FAILED; failed=1; }
  printf '  %-7s %5d s  %s\n' "$word" "$seconds" "$name"
done
strictly=()
[ "$suite" != soak ] || strictly=(--all-but tests/not_verifiable.txt)
"$python" tools/check_summary.py "$results" "${strictly[@]}" || failed=1
exit $failed
