"""Everything native in the package runs on glibc 2.28 and later, and needs nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support.installed.package_files import native_files, output

LIMIT = (2, 28)
# Of glibc before 2.34 libpthread and libdl are libraries of their own.
GLIBC = re.compile(r"^(libc|libm|libpthread|libdl|ld-linux-[\w-]+)\.so\.\d$")


def faults(path: Path, limit: tuple[int, ...]) -> list[str]:
    """What of a library's wishes a system with glibc `limit` and nothing else cannot fulfil."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-Wd", path))
    wrong = [f"needs {name}" for name in needed if not GLIBC.match(name)]
    for line in output("readelf", "-W", "--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] != "UND" or "@" not in fields[7]:
            continue
        name, _, version = fields[7].partition("@")
        number = re.fullmatch(r"GLIBC_([\d.]+)", version)
        if number is None or tuple(map(int, number[1].split("."))) > limit:
            wrong.append(f"wants {name}@{version}")
    return wrong


def test_all_of_it_is_looked_at() -> None:
    names = {path.name.split(".")[0] for path in native_files()}
    assert {"_core", "libiotune", "libiotune-db", "libiotune-gather", "libiotune-logstore"} <= names


@pytest.mark.parametrize("path", native_files(), ids=lambda path: path.name)
def test_nothing_newer_than_glibc_2_28_is_needed(path: Path) -> None:
    assert faults(path, LIMIT) == []


def test_what_is_newer_would_be_seen() -> None:
    (core,) = (path for path in native_files() if path.name.startswith("_core"))
    assert any("@GLIBC_" in fault for fault in faults(core, (2, 2)))
    assert any("libstdc++" in fault for fault in _faults_of_cxx())


def _faults_of_cxx() -> list[str]:
    """Of a module of the interpreter's surroundings that is linked with libstdc++."""
    import numpy

    found = [
        fault for path in Path(numpy.__file__).parent.rglob("*.so") for fault in faults(path, (99,))
    ]
    return found or [f"no libstdc++ in numpy of {sys.executable}"]
