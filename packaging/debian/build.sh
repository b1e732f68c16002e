#!/usr/bin/env bash
# packaging/debian/build.sh [folder]: a Debian package of this checkout in `folder` (build/deb/out),
# for the Debian that it runs on. pybind11 is the one of .venv, where there is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${1:-build/deb/out}
mkdir -p "$out"
pybind=$(.venv/bin/python -m pybind11 --cmakedir 2>/dev/null || true)
cmake -S . -B build/deb -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DPython3_EXECUTABLE=/usr/bin/python3 -DPython_EXECUTABLE=/usr/bin/python3 \
  ${pybind:+"-Dpybind11_DIR=$pybind"} -DIOTUNE_PYTHON_DIR=lib/python3/dist-packages \
  "-DIOTUNE_LIBRARY_DIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/iotune" \
  -DIOTUNE_BUILD_PYTHON=ON -DIOTUNE_BUILD_TESTS=OFF -DIOTUNE_BUILD_KERNELS=OFF --log-level=NOTICE
cmake --build build/deb
(umask 022 && cd build/deb && cpack -G DEB -B packages)
cp build/deb/packages/*.deb "$out"
