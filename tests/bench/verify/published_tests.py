"""The parallel tests of PnetCDF, netCDF and HDF5 that have published figures: fetched as Debian's
source packages, built with MPICH, run under `iotune run` with their order recorded.

The published figures (published.csv) are VerifyIO's, of PnetCDF 1.13.0, netCDF 4.9.2 and HDF5
1.14.4-3: conflicting pairs, and in each model those that are not properly synchronised.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

from bench import native
from support import preloaded
from support.repository import COMPANIONS

HERE = Path(__file__).parent
MODELS = ("posix", "commit", "session", "mpiio")
SECONDS_A_RUN, SECONDS_A_BUILD = 600, 1800
HDF5_INCLUDE = "/usr/include/hdf5/mpich"
HDF5_LIBRARIES = "/usr/lib/x86_64-linux-gnu/hdf5/mpich"
# Debian's source packages; their tests are built by these lines, below the unpacked sources.
BUILDS = {
    "pnetcdf": (
        "autoreconf -i",
        "./configure --with-mpi=/usr MPICC=mpicc.mpich MPICXX=mpicxx.mpich MPIF77=mpifort.mpich"
        " MPIF90=mpifort.mpich --disable-cxx --enable-shared --disable-static"
        " FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch",
        "make -s -C src",
        "make -s -C test/common tests",
        "make -s -C test/testcases tests",
        "make -s -C examples/C flexible_api",
    ),
    "netcdf": (
        f"./configure CC=mpicc.mpich CPPFLAGS=-I{HDF5_INCLUDE} LDFLAGS='-L{HDF5_LIBRARIES}"
        f" -Wl,-rpath,{HDF5_LIBRARIES}' --enable-parallel-tests --disable-dap --disable-nczarr"
        " --disable-byterange --disable-libxml2 --disable-plugins --disable-utilities"
        " --disable-static --disable-examples",
        "make -s",
        "make -s -C nc_test4 check TESTS=",
        "make -s -C h5_test check TESTS=",
    ),
}
# HDF5's tests are fetched by tools/setup.sh companions; these have sources beside their own.
HDF5_PARTS = {
    "testphdf5": "t_dset t_file t_file_image t_mdset t_ph5basic t_coll_chunk t_span_tree"
    " t_chunk_alloc t_filter_read t_prop t_coll_md_read".split(),
}


@dataclass(frozen=True)
class Row:
    """A row of the table, and the program behind it."""

    library: str
    test: str
    pairs: int | None
    published: Mapping[str, int | None]  # by model
    program: str = ""
    ranks: int = 4
    first: str = ""
    missing: str = ""
    explained: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.library} {self.test}, {self.ranks} ranks"


def table() -> list[Row]:
    """All rows, in the order of the published table."""
    programs = tomllib.loads((HERE / "programs.toml").read_text())["row"]
    with (HERE / "published.csv").open() as file:
        figures = list(csv.DictReader(file))
    rows = []
    for one, said in zip(programs, figures, strict=True):
        assert (one["library"], one["test"]) == (said["library"].split()[0], said["test"])
        published = {model: _number(said[f"violations_{model}"]) for model in MODELS}
        rows.append(Row(pairs=_number(said["conflict_pairs"]), published=published, **one))
    return rows


def _number(text: str) -> int | None:
    return int(text) if text else None


class Unbuilt(RuntimeError):
    """A library's tests cannot be had here, and why."""


class PublishedTests:
    """The tests, built below a folder that is kept, and their runs."""

    def __init__(self, build: Path, home: Path) -> None:
        """`build` is iotune's, for the yield shim; `home` keeps sources and programs."""
        self.build = build
        self.home = home.resolve()
        self.home.mkdir(parents=True, exist_ok=True)
        self.log = self.home / "build.log"

    # --- fetch and build
    def folder(self, library: str) -> Path:
        """Where the library's tests are built; builds them if they are not there."""
        place = self.home / library
        if not (place / "built").exists():
            place.mkdir(exist_ok=True)
            if library == "hdf5":
                self._build_hdf5(place)
            else:
                self._fetch(library, place)
                for line in BUILDS[library]:
                    self._shell(line, place)
            (place / "built").touch()
        return place

    def _shell(self, line: str, folder: Path) -> None:
        with self.log.open("a") as log:
            log.write(f"+ {line}\n")
            log.flush()
            done = subprocess.run(
                ["nice", "sh", "-c", line], cwd=folder, stdout=log, stderr=log, check=False,
                stdin=subprocess.DEVNULL, timeout=SECONDS_A_BUILD,
            )  # fmt: skip
        if done.returncode != 0:
            raise Unbuilt(f"`{line}` failed (output: {self.log})")

    def _fetch(self, package: str, place: Path) -> None:
        """The source package; the machine's sources are read as sources of source, in a folder of
        our own.
        """
        apt = self.home / "apt"
        for name in ("parts", "lists/partial", "cache/archives/partial"):
            (apt / name).mkdir(parents=True, exist_ok=True)
        for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
            if path.suffix == ".sources":
                lines = [("Types: deb-src" if line.startswith("Types:") else line)
                         for line in path.read_text().splitlines()]  # fmt: skip
            elif path.suffix == ".list" and path.is_file():
                lines = sorted({f"deb-src {line.split(' ', 1)[1]}"
                                for line in path.read_text().splitlines()
                                if line.startswith(("deb ", "deb-src "))})  # fmt: skip
            else:
                continue
            (apt / "parts" / path.name).write_text("\n".join(lines) + "\n")
        options = (
            f"-qq -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=/dev/null"
            f" -o Dir::Etc::sourceparts='{apt}/parts' -o Dir::State::lists='{apt}/lists'"
            f" -o Dir::Cache='{apt}/cache'"
        )
        # One source of several may be out of reach: the next command judges.
        self._shell(f"apt-get {options} update || true", apt)
        self._shell(f"apt-get {options} --download-only --only-source source {package}", apt)
        (archive,) = apt.glob(f"{package}_*.orig.tar.*[!c]")
        self._shell(f"tar -xf '{archive}' -C '{place}' --strip-components=1", apt)

    def _build_hdf5(self, place: Path) -> None:
        sources = COMPANIONS / "hdf5"
        if not (sources / "testpar" / "testphdf5.c").exists():
            raise Unbuilt("HDF5's own tests are not there (tools/setup.sh companions)")
        for row in table():
            for name in (row.program, row.first):
                if row.library == "hdf5" and name:
                    parts = [f"testpar/{part}.c" for part in (name, *HDF5_PARTS.get(name, ()))]
                    files = " ".join(
                        f"'{sources}/{part}'" for part in (*parts, "test/h5test.c",
                                                            "test/testframe.c"))  # fmt: skip
                    include = " ".join(f"'-I{sources}/{one}'" for one in ("src", "test", "testpar"))
                    self._shell(
                        f"mpicc.mpich -w -O1 -o {name} {files} {include} -I{HDF5_INCLUDE}"
                        f" -L{HDF5_LIBRARIES} -Wl,-rpath,{HDF5_LIBRARIES} -lhdf5 -lz -lm", place,
                    )  # fmt: skip

    # --- run
    def command(self, row: Row, program: str, folder: Path) -> list[str]:
        """The ranks of a program; libtool's scripts are passed by."""
        place = self.folder(row.library)
        name, *words = program.split()
        path = place / name
        inner = path.parent / ".libs" / path.name
        words = [word.format(file=folder / f"{path.name}.nc") for word in words]
        return [
            "mpirun.mpich",
            "-n",
            str(row.ranks),
            str(inner if inner.exists() else path),
            *words,
        ]

    def environment(self, row: Row, folder: Path) -> dict[str, str]:
        place = self.folder(row.library)
        libraries = [str(path) for path in place.glob("**/.libs") if list(path.glob("*.so"))]
        return preloaded.plain_environment() | {
            "LD_LIBRARY_PATH": ":".join(libraries), "HDF5_PARAPREFIX": str(folder),
            "IOTUNE_DB": "none", "IOTUNE_ORDER": "1", "HOME": str(self.home / "user"),
            "XDG_STATE_HOME": str(self.home / "user/state"),
            **preloaded.variables(native.yield_shim(self.build)),
        }  # fmt: skip

    def recorded(self, row: Row, folder: Path) -> Path:
        """The trace of a run of the row's program."""
        trace = folder / "run.iotrace"
        env = self.environment(row, folder)
        if row.first:
            bare = {name: value for name, value in env.items() if not name.startswith("IOTUNE_")}
            preloaded.run(*self.command(row, row.first, folder), cwd=folder, environment=bare,
                          seconds=SECONDS_A_RUN)  # fmt: skip
        done = preloaded.run(
            sys.executable, "-m", "iotune", "run", "--mode", "record", "-o", trace, "--",
            *self.command(row, row.program, folder),
            cwd=folder, environment=env, seconds=SECONDS_A_RUN,
        )  # fmt: skip
        if not trace.exists():
            said = (done.out + done.err).decode(errors="replace")
            raise Unbuilt(f"{row.name}: no trace; {said[-300:]}")
        return trace


def compared(row: Row, files: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The verdicts of one test beside the published ones: by model `same`, `explained`, or the two
    that differ. `ours` and `published` have the figures: of pairs, and of each model.
    """
    words = ("pairs", *MODELS)
    ours = {word: sum(said[word] for said in files.values()) for word in words}
    published_figures = [row.pairs, *(row.published[model] for model in MODELS)]
    found: dict[str, Any] = {"test": row.name, "ours": [ours[word] for word in words],
                             "published": published_figures}  # fmt: skip
    for model in MODELS:
        published = row.published[model]
        if published is None or (published > 0) == (ours[model] > 0):
            found[model] = "same"
        elif model in row.explained:
            found[model] = f"explained: {row.explained[model]}"
        else:
            found[model] = f"{ours[model]} here, {published} published"
    return found


def outcome(found: Mapping[str, Any]) -> str:
    """`same`, `explained` or `different` for all four models."""
    said = [found[model] for model in MODELS]
    if all(one == "same" for one in said):
        return "same"
    right = all(one == "same" or one.startswith("explained: ") for one in said)
    return "explained" if right else "different"


def wanting() -> list[str]:
    """The programs that building them takes and that are not here."""
    needed = ("mpicc.mpich", "mpifort.mpich", "mpirun.mpich", "autoreconf", "libtoolize", "m4",
              "make", "apt-get")  # fmt: skip
    return [name for name in needed if shutil.which(name) is None] + (
        [] if os.path.isdir(HDF5_INCLUDE) else ["libhdf5-mpich-dev"]
    )
