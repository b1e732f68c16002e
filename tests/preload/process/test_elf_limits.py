"""What the preloaded libraries ask of the system they come into: nothing but an old glibc."""

from __future__ import annotations

import fnmatch
import re
import subprocess
from pathlib import Path

from support.place import Place, main
from support.repository import ROOT

NEWEST = (2, 28)
# frame_dummy of crtbegin.o, the recorder's start, the tuner's install, one for each service.
CONSTRUCTORS = 6


def readelf(*arguments: object) -> str:
    done = subprocess.run(
        ["readelf", "-W", *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout


def exported_globs() -> list[str]:
    """The names of the version script, which is what may be exported."""
    text = (ROOT / "tuner" / "exports.map").read_text()
    found = re.search(r"global:(.*?)local:", text, re.DOTALL)
    assert found is not None, text
    return [name.strip() for name in found[1].split(";") if name.strip()]


def asks_little(library: Path) -> list[tuple[str, str, str]]:
    """What both have to keep to. The symbols that the library defines: name, type, binding."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", library))
    symbols = readelf("--dyn-syms", library)
    # Before glibc 2.34 these were libdl's: a shell, which has no libdl, would not start.
    asked = re.findall(r" UND (dlopen|dlsym|dlclose|dladdr)@", symbols)
    assert not asked, f"{asked}: core/link/loader_calls.h has them without libdl"
    assert needed == ["libc.so.6"], needed

    versions = {(int(a), int(b)) for a, b in re.findall(r"@GLIBC_(\d+)\.(\d+)", symbols)}
    assert versions, "no versioned symbol at all: was the right file read?"
    assert max(versions) <= NEWEST, f"needs GLIBC_{max(versions)}"
    foreign = set(re.findall(r"@(?!@?GLIBC_)(\w+)", symbols))
    assert not foreign, foreign

    flags = readelf("-d", library)
    assert "TEXTREL" not in flags
    # An executable stack of one library is the whole program's.
    stack = re.search(r"GNU_STACK.*", readelf("-l", library))
    assert stack is not None and "RWE" not in stack[0], stack
    assert "GNU_RELRO" in readelf("-l", library)
    assert ".symtab" in readelf("-S", library)
    assert ".ctors" not in readelf("-S", library)
    print(f"{library.name}: newest GLIBC_{max(versions)[0]}.{max(versions)[1]}")
    return [
        (fields[7], fields[3], fields[4])
        for fields in (line.split() for line in symbols.splitlines())
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit() and fields[6] != "UND"
    ]


def initialisers(library: Path) -> int:
    found = re.search(r"\.init_array\s+INIT_ARRAY\s+\S+\s+\S+\s+(\S+)", readelf("-S", library))
    return 0 if found is None else int(found[1], 16) // 8


def without_symbols(place: Place, library: Path) -> int:
    stripped = place.scratch / "stripped.so"
    subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
    return stripped.stat().st_size


def limits(place: Place) -> None:
    library = place.library
    defined = asks_little(library)
    names = [name for name, _, _ in defined]
    globs = exported_globs()
    stray = [n for n in names if not any(fnmatch.fnmatchcase(n, glob) for glob in globs)]
    assert not stray, f"exported, but not in exports.map: {stray}"
    versioned = [name for name in names if "@" in name]
    assert not versioned, f"an unversioned name interposes every version: {versioned}"
    data = [name for name, kind, _ in defined if kind != "FUNC"]
    assert not data, f"data exported: {data}"
    for name in ("H5Dwrite", "MPI_File_open", "PMPI_File_open", "pwrite64", "__open_2"):
        assert name in names, f"{name} is not exported"
    # The loader searches by its caller's RUNPATH: a wrapper would be that caller.
    assert not {"dlopen", "dlmopen", "dlsym", "dlvsym"} & set(names), "the loader is wrapped"
    missing = [g for g in globs if "*" not in g and g not in names]
    assert not missing, f"in exports.map, but not defined: {missing}"

    entries = initialisers(library)
    assert entries == CONSTRUCTORS, f"{entries} initialisers: a dynamically initialised global?"
    sizes = subprocess.run(["size", str(library)], capture_output=True, text=True, check=True)
    print(sizes.stdout)
    print(f"{library.name}: {without_symbols(place, library)} bytes without symbols, "
          f"{len(names)} names")  # fmt: skip


def prefetch(place: Place) -> None:
    """The library that the preload loads where IOTUNE_PREFETCH asks for it."""
    library = place.library.with_name("libiotune-prefetch.so")
    assert [name for name, _, _ in asks_little(library)] == ["iotune_service"]
    assert initialisers(library) <= 1, "a dynamically initialised global?"
    assert "TLS" not in readelf("-l", library), (
        "thread-local memory: loading may fail for want of it"
    )
    print(f"{library.name}: {without_symbols(place, library)} bytes without symbols")


if __name__ == "__main__":
    main({"limits": limits, "prefetch": prefetch})
