#!/usr/bin/env bash
# packaging/debian/build.sh [folder]: a Debian package of this checkout in `folder` (build/deb/out),
# for the Debian that it runs on. pybind11 is the one of .venv. Debian 12's typer (0.7) is too old:
# the package brings one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${1:-build/deb/out}
mkdir -p "$out"
readonly TYPER=0.12.5
.venv/bin/python -m pip install --quiet --no-deps --no-compile --upgrade --target build/deb/vendored \
  "typer==$TYPER"
pybind=$(.venv/bin/python -m pybind11 --cmakedir)
cmake -S . -B build/deb -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DPython3_EXECUTABLE=/usr/bin/python3 -DPython_EXECUTABLE=/usr/bin/python3 \
  "-Dpybind11_DIR=$pybind" -DIOTUNE_PYTHON_DIR=lib/python3/dist-packages \
  "-DIOTUNE_LIBRARY_DIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/iotune" \
  "-DIOTUNE_VENDORED=typer=$TYPER=$PWD/build/deb/vendored" -DIOTUNE_BUILD_PYTHON=ON \
  -DIOTUNE_BUILD_TESTS=OFF -DIOTUNE_BUILD_KERNELS=OFF --log-level=NOTICE
cmake --build build/deb
(umask 022 && cd build/deb && cpack -G DEB -B packages)
cp build/deb/packages/*.deb "$out"
