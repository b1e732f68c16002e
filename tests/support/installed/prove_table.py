"""Under which MPIs and HDF5s the table's rows are proven, and the record of what was found there.

    python tests/run.py tests/support/installed/prove_table.py SCRATCH --site mpich-5
    … SCRATCH --site openmpi-4/romio321 --setting cb_nodes

proves every row that the table calls proven there, and writes what came out into tests/data/
proven_record.json. With --unknown it also tries what the table says nothing of. With --print it
prints the table of docs/safety.md, which says what each row rests on.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune import core
from iotune.errors import Error
from iotune.proving.prover import LEAST_RANKS, SEEDS, Prover, Setting, settings_to_try
from iotune.replay.mpi import Mpi, _describe, serial_hdf5
from support import mpis
from support.repository import COMPANIONS, TESTS

RECORD = TESTS / "data" / "proven_record.json"
SERIAL_HDF5 = "serial HDF5"  # the table's name


@dataclass(frozen=True)
class Site:
    """An MPI of mpis.py, its MPI-IO and its HDF5; or an HDF5 without MPI."""

    mpi: str = ""
    mpi_io: str = ""  # what Open MPI is set to take
    hdf5: str = ""  # a folder below build/companions; "": the system's
    library: str = ""  # of an HDF5 without MPI

    @property
    def name(self) -> str:
        """As --site takes it."""
        return "/".join(filter(None, (self.mpi, self.mpi_io, self.hdf5, Path(self.library).name)))

    def environment(self) -> dict[str, str]:
        """What the prover's ranks need. Raises Error where the site cannot be had."""
        if self.library:
            return {}
        found = mpis.find_mpi(self.mpi)
        if found is None:
            raise Error(f"{self.mpi} is not here")
        variables = {"IOTUNE_MPICC": found.compiler}
        if not found.romio:
            variables |= {**mpis.OPEN_MPI, "OMPI_MCA_io": self.mpi_io}
        if self.hdf5:
            home = COMPANIONS / self.hdf5
            if not (home / "include" / "hdf5.h").is_file():
                raise Error(f"{home} is not here (tools/setup.sh parallel-hdf5)")
            variables["HDF5_ROOT"] = str(home)
        return variables

    def described(self) -> Mpi:
        """For the prover. The variables of environment() are set."""
        if self.library:
            return serial_hdf5(self.library)
        found = mpis.find_mpi(self.mpi)
        assert found is not None
        return _describe(found.launcher)


# Of MPI-IO; the system's HDF5 is proven with Debian's two.
SITES = (
    Site("mpich-4"), Site("mpich-5"), Site("openmpi-4", "ompio"), Site("openmpi-4", "romio321"),
    Site("openmpi-5", "ompio"), Site("openmpi-5", "romio341"),
)  # fmt: skip
PARALLEL_HDF5 = tuple(Site("mpich-5", "", f"hdf5-{one}-parallel") for one in ("1.14", "2.2"))


def serial_sites() -> list[Site]:
    """Every HDF5 without MPI that is here."""
    found = sorted(COMPANIONS.glob("hdf5-*/lib/libhdf5-*.so*"))
    found += sorted(Path("/usr/lib").glob("*/libhdf5_serial.so.103"))
    return [Site(library=str(one)) for one in found]


def is_proven(prover: Prover, one: Setting, also_unknown: bool = False) -> bool:
    """Whether the table calls it proven at the prover's site, which can try it."""
    assert prover.site is not None
    question = {**prover.site.question(prover.scratch), "database": "none", "config": ""}
    known = core.gate_answer(question, one.parameter, one.value)["known"]
    return prover.can_try(one) and known in ("proven", *(("unknown",) if also_unknown else ()))


def library_of(prover: Prover, one: Setting) -> tuple[str, str]:
    """The library of the table that reads a setting at the prover's site, and its version."""
    assert prover.site is not None
    site = prover.site
    if one.of_hdf5:
        return ("HDF5" if site.mpi else SERIAL_HDF5), site.hdf5
    return site.mpi_io, site.mpi.split()[-1].lstrip("v")


def entries(prover: Prover, wanted: list[Setting]) -> Iterator[dict[str, Any]]:
    """What the record keeps of each setting, proven one after the other."""
    for one in wanted:
        proof = prover.prove(one)
        library, version = library_of(prover, one)
        yield {
            "library": library, "version": version, "mpi": proof["mpi"],
            "parameter": one.parameter, "value_class": one.value_class,
            "passed": proof["passed"], "evidence": proof["evidence"],
            "seeds": proof["seeds"], "ranks": proof["ranks"], "prover": prover.version,
        }  # fmt: skip


_KEY = ("library", "version", "mpi", "parameter", "value_class")


def recorded(path: Path = RECORD) -> list[dict[str, Any]]:
    """The record's entries."""
    return list(json.loads(path.read_text())) if path.is_file() else []


def keep(entry: dict[str, Any], path: Path = RECORD) -> None:
    """Put it in the place of the one before. A fault that was seen stays, whatever passed since."""
    lock = os.open(path.parent, os.O_RDONLY)  # one writer at a time
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = {tuple(one[part] for part in _KEY): one for one in recorded(path)}
        key = tuple(entry[part] for part in _KEY)
        if not entry["passed"] or known.get(key, entry)["passed"]:
            known[key] = entry
        lines = [json.dumps(known[one]) for one in sorted(known)]
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    finally:
        os.close(lock)


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def speaks_of(row: dict[str, str], version: str) -> bool:
    """Whether a version lies in a row's range."""
    begins = not row["from"] or _parts(row["from"]) <= _parts(version)
    return begins and (not row["to"] or _parts(version) <= _parts(row["to"]))


def classes_of(row: dict[str, str], version: str, rows: list[dict[str, str]]) -> list[str]:
    """The classes of values that a proven row is about at a version, and that can be tried."""
    if row["value_class"] != "*":
        return [row["value_class"]]
    elsewhere = {
        one["value_class"]
        for one in rows
        if one["parameter"] == row["parameter"]
        and one["library"] == row["library"]
        and one["known"] != "proven"
        and speaks_of(one, version)
    }
    every = [one.value_class for one in settings_to_try() if one.parameter == row["parameter"]]
    return [one for one in every if one not in elsewhere]


def provers_of_rows() -> Iterator[tuple[str, str, str, str, int]]:
    """Library, version, setting and class of the table's proven rows, at both ends of each range,
    with the prover's version that the record has for it; 0: none.
    """
    rows = core.known_settings()["rows"]
    passed: dict[tuple[str, ...], int] = {}
    for one in recorded():
        key = (one["library"], one["version"], one["parameter"], one["value_class"])
        if one["passed"]:
            passed[key] = max(passed.get(key, 0), one["prover"])
    for row in rows:
        if row["known"] != "proven":
            continue
        for version in dict.fromkeys((row["from"], row["to"])):
            for value_class in classes_of(row, version, rows):
                key = (row["library"], version, row["parameter"], value_class)
                yield (*key, passed.get(key, 0))


def as_markdown() -> str:
    """What docs/safety.md says of it."""
    found: dict[tuple[str, str], dict[int, dict[str, list[str]]]] = {}
    for library, version, parameter, value_class, prover in provers_of_rows():
        of_prover = found.setdefault((library, version), {}).setdefault(prover, {})
        of_prover.setdefault(parameter, []).append(value_class)
    lines = ["| library | version | prover | settings |", "|---|---|---|---|"]
    for (library, version), provers in found.items():
        for prover, settings in sorted(provers.items(), reverse=True):
            text = "; ".join(f"{name} ({', '.join(some)})" for name, some in settings.items())
            lines.append(f"| {library} | {version} | {prover or 'before the record'} | {text} |")
    return "\n".join(lines)


def main() -> int:
    """Prove a site's rows."""
    sites = {one.name: one for one in (*SITES, *PARALLEL_HDF5, *serial_sites())}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scratch", type=Path, nargs="?")
    parser.add_argument("--site", choices=sorted(sites))
    parser.add_argument("--print", action="store_true", help="the table of docs/safety.md")
    parser.add_argument("--setting", action="append", default=[])
    parser.add_argument("--layer", choices=("hdf5", "mpi-io"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--unknown", action="store_true")
    parser.add_argument("--record", type=Path, default=RECORD)
    asked = parser.parse_args()
    if asked.print or asked.scratch is None or asked.site is None:
        print(as_markdown())
        return 0
    site = sites[asked.site]
    os.environ.update(site.environment())
    prover = Prover(site.described(), LEAST_RANKS, asked.scratch, asked.seeds)
    prover.settle()
    wanted = [
        one
        for one in settings_to_try()
        if is_proven(prover, one, asked.unknown)
        and (not asked.setting or one.parameter in asked.setting)
        and (not asked.layer or one.of_hdf5 == (asked.layer == "hdf5"))
    ]
    wrong = 0
    for entry in entries(prover, wanted):
        keep(entry, asked.record)
        wrong += not entry["passed"]
        print(json.dumps(entry), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
