"""Small independent writes of MPI-IO and HDF5, bare, recorded and gathered: from open to close.

Two ranks, one a core; then 4 and 8 ranks with the yield shim in every arm. Beside times, the calls
that reach the file system, which are counted in a recorded run of each arm. An arm more keeps what
waits in a log beside the file as well. With --cephfs two ranks on nodes of their own write on the
testbed (tests/testbed/cephfs up --rate 10M): fewer pieces, for each costs a millisecond.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench import native, paired
from support import preloaded
from support.repository import TESTBEDS

CORES = 2
FEWER_CALLS = 1000.0  # that reach the file system, where everything is exchanged
LEFT_ALONE = 0.98  # of the bare speed, at least: programs without small writes
WRITES = ("write", "pwrite", "writev", "pwritev")
ARMS = ("bare", "recorded", "gathered", "trained", "logged")
# What training finds for the flush on a local disk: each rank writes its own, sieved.
TRAINED = "romio_cb_write disable\n"


@dataclass(frozen=True)
class Case:
    way: str  # of piece_writes.c or dataset_writes.c
    pieces: int  # a rank
    size: int  # bytes of a piece
    goal: float | None  # bare over gathered
    trained: float | None = None  # bare over gathered, with TRAINED
    logged: float | None = None  # bare over gathered with a log
    ranks: int = CORES
    fewer_calls: bool = False  # FEWER_CALLS is its goal
    hdf5: bool = False  # by H5Dwrite, of elements of 8 bytes
    cephfs: bool = False

    @property
    def goals(self) -> dict[str, float | None]:
        """By arm, of those that are measured."""
        asked = {"trained": self.trained, "logged": self.logged}
        return {"gathered": self.goal} | {arm: goal for arm, goal in asked.items() if goal}

    @property
    def text(self) -> str:
        if self.hdf5:
            return f"HDF5, {self.ranks} x {self.pieces}, {self.way}"
        place = "CephFS, " if self.cephfs else ""
        return f"{place}{self.ranks} x {self.pieces} pieces of {self.size} bytes, {self.way}"


CASES = (
    Case("cyclic", 300_000, 8, 5.0, 12.0, fewer_calls=True),
    Case("cyclic", 300_000, 20, 5.0, 12.0, fewer_calls=True),
    Case("cyclic", 300_000, 64, 5.0, 12.0, logged=3.0, fewer_calls=True),
    Case("columns", 300_000, 64, 3.0, logged=3.0, fewer_calls=True),
    Case("part", 1_000_000, 20, 8.0),
    # As IOR's strided transfers without -c: each rank a transfer of every segment.
    Case("ior", 20_000, 2048, None),
    Case("ior", 20_000, 2048, None, ranks=4),
    Case("ior", 10_000, 2048, None, ranks=8),
    Case("cyclic", 100_000, 64, None, ranks=4),
    Case("cyclic", 50_000, 64, None, ranks=8),
    # One call a rank, of strided elements; columns of 32 bytes; a call for each row of 64 bytes.
    Case("cyclic", 300_000, 8, 5.0, 10.0, hdf5=True),
    Case("columns", 100_000, 32, 2.0, hdf5=True),
    Case("rows", 100_000, 64, 4.0, hdf5=True),
    Case("alone", 200_000, 64, 4.0, ranks=1, hdf5=True),
    # No small write: nothing waits.
    Case("large", 200, 1 << 20, LEFT_ALONE),
    Case("cyclic", 1_500, 8, 10.0, cephfs=True),
    Case("cyclic", 1_500, 20, 10.0, cephfs=True),
    Case("cyclic", 1_500, 64, 10.0, logged=8.0, cephfs=True),
)
CEPHFS = Path(os.environ.get("IOTUNE_TESTBED", "/var/tmp/iotune-cephfs")) / "mnt" / "narrow"


def flags_of(packages: list[str]) -> list[str]:
    asked = ["pkg-config", "--cflags", "--libs", *packages]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()


class Runs:
    """Runs of the arms of a case, each with a file of its own."""

    def __init__(self, build: Path, out: Path, scratch: Path, shm: Path) -> None:
        self.programs = {
            hdf5: native.compiled(source, out / "native", flags_of(package))
            for hdf5, source, package in (
                (False, "piece_writes.c", ["mpich"]),
                (True, "dataset_writes.c", ["hdf5-mpich", "mpich"]),
            )
        }
        self.library = (build / "lib" / "libiotune.so").resolve()
        self.json = build / "bin" / "trace_json"
        self.scratch, self.shm = scratch, shm
        self.shim = native.yield_shim(build)
        self.hints = scratch / "hints"
        self.hints.write_text(TRAINED)

    def seconds(self, arm: str, case: Case) -> float:
        env = preloaded.plain_environment()
        for kind in ("DATA", "STATE", "CONFIG"):
            env[f"XDG_{kind}_HOME"] = str(self.scratch / kind.lower())
        libraries = [self.shim] if case.ranks > CORES else []
        if arm != "bare":
            libraries.insert(0, self.library)
            env |= {"IOTUNE_TRACE": str(self.trace), "IOTUNE_DB": "none",
                    "IOTUNE_BUFFER_DIR": str(self.shm)}  # fmt: skip
        if libraries:
            env |= preloaded.variables(*libraries)
        if arm in ("gathered", "trained", "logged"):
            env["IOTUNE_GATHER"] = "log" if arm == "logged" else "memory"
        if arm == "trained":
            env["ROMIO_HINTS"] = str(self.hints)
        file, launcher = self.file(arm, case), TESTBEDS / "cephfs_mpirun"
        words = [case.way, file, case.pieces, *([] if case.hdf5 else [case.size])]
        command = [launcher if case.cephfs else "mpirun.mpich", "-n", case.ranks,
                   self.programs[case.hdf5], *words]  # fmt: skip
        done = subprocess.run(list(map(str, command)), env=env, check=True, stdout=subprocess.PIPE)
        return float(done.stdout)

    @property
    def trace(self) -> Path:
        return self.scratch / "run.iotrace"

    def file(self, arm: str, case: Case) -> Path:
        return (CEPHFS if case.cephfs else self.scratch) / arm

    def equal(self, arms: list[str], case: Case) -> bool:
        """Whether the last runs of these arms left the same file; of HDF5 for h5diff."""
        if not case.hdf5:
            return len({self.file(arm, case).read_bytes() for arm in arms}) == 1
        first, *others = (self.file(arm, case) for arm in arms)
        return all(subprocess.run(["h5diff", first, other], check=False).returncode == 0
                   for other in others)  # fmt: skip

    def calls(self, arm: str, case: Case) -> int:
        """Writes of POSIX to the file, of all ranks."""
        self.seconds(arm, case)
        found = subprocess.run([str(self.json), "calls", str(self.trace)], check=True,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
        return sum(json.loads(line)["name"] in WRITES for line in found.stdout.splitlines())


def measure(table: paired.Table, runs: Runs, case: Case, options: argparse.Namespace) -> None:
    arms = [arm for arm in ARMS if arm in ("bare", "recorded") or arm in case.goals]
    comparison = paired.compare(
        case.text, {arm: functools.partial(runs.seconds, arm, case) for arm in arms},
        options.rounds, seed=options.seed,
    )  # fmt: skip
    if not runs.equal(arms, case):
        raise paired.ArmFailed(f"{case.text}: the files differ")
    table.keep(comparison)
    table.add(f"{case.text}, bare, seconds", comparison.median("bare"))
    table.add(f"{case.text}, recorded, over bare", comparison.ratio("recorded", "bare"))
    for arm, goal in case.goals.items():
        ratio = comparison.ratio("bare", arm)
        if goal is None:
            table.add(f"{case.text}, bare over {arm}", ratio)
        else:
            table.judge(f"{case.text}, bare over {arm}", ratio, paired.at_least(goal))
    if case.fewer_calls:
        fewer = runs.calls("recorded", case) / max(1, runs.calls("gathered", case))
        table.add(f"{case.text}, calls that reach the file system, recorded over gathered",
                  fewer, paired.at_least(FEWER_CALLS))  # fmt: skip


def main() -> int:
    parser = paired.parser(__doc__, rounds=7)
    parser.add_argument("--cephfs", action="store_true", help="on the testbed, and there alone")
    options = parser.parse_args()
    if options.cephfs and not CEPHFS.is_dir():
        print(f"NOT VERIFIED gather on CephFS: no {CEPHFS}")
        return 0
    table = paired.Table("gather-cephfs" if options.cephfs else "gather")
    with tempfile.TemporaryDirectory(prefix="iotune-gather-", dir="/var/tmp") as folder:
        shm = Path(tempfile.mkdtemp(prefix="iotune-gather-", dir="/dev/shm"))
        try:
            runs = Runs(options.build, options.out, Path(folder), shm)
            for case in CASES:
                if case.cephfs == options.cephfs:
                    measure(table, runs, case, options)
        finally:
            shutil.rmtree(shm, ignore_errors=True)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
