"""The cases of `make bench NAME=tuning` and `NAME=safety`: kernels, directions and storages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from support.repository import TESTBEDS

TESTBED = Path(os.environ.get("IOTUNE_TESTBED", "/var/tmp/iotune-cephfs"))
SHARED = "memory"  # folder of the scratch


@dataclass(frozen=True)
class Storage:
    """Where a case's files lie, and what starts its ranks."""

    name: str
    folder: Path
    launcher: str
    ranks: int
    # Its bytes go through the kernel's pages. Runs keep a pace and find warm ones
    # (models/replays/warm_pages.py), and those that write end before the kernel writes out
    # (Arms.room).
    paced: bool = False
    # Its files are memory: to read one again is the same as to read another.
    rereads: bool = False


@dataclass(frozen=True)
class Case:
    """A kernel, a direction and a storage."""

    kernel: str
    words: tuple[str, ...]
    write: bool
    storage: Storage

    @property
    def collective(self) -> bool:
        """Whether the program's transfers are."""
        return "--collective" in self.words

    @property
    def step_inside(self) -> bool:
        """Whether its datasets are named by the step, so that a file has its name for good."""
        return self.kernel == "vpic-io"

    @property
    def name(self) -> str:
        """Unique; the key in the JSON."""
        mode = "-collective" if self.collective else ""
        return f"{self.kernel}{mode} {'write' if self.write else 'read'} {self.storage.name}"


# Some 200 MB a file: what a call costs by itself is little beside its bytes.
KERNELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("vpic-io", ("--particles", "4194304")),
    ("vorpal-io", ("--size", "60x75x150")),
    ("vorpal-io", ("--size", "60x75x150", "--collective")),
    ("gcrm-io", ("--size", "1x1x2621440")),
    ("flash-io", ("--size", "160x8x8x8")),
    ("column-io", ("--size", "262144x64", "--collective")),
    ("cyclic-io", ("--size", "4000000", "--collective")),
)

# Less where the storage is held to some MiB/s, for what limits a run is to be that and no core.
# Of VPIC, VORPAL and GCRM a rank's part of a call stays that of the papers' sizes by 2 to 8,
# because a call is spread over the targets.
SMALL = {
    "vpic-io": ("--particles", "1048576", "--datasets", "2"),
    "vorpal-io": ("--size", "30x50x150", "--datasets", "3"),
    "gcrm-io": ("--size", "1x1x655360", "--datasets", "3"),
    "flash-io": ("--size", "20x8x8x8"),
    "column-io": ("--size", "8192x64"),
    "cyclic-io": ("--size", "600000"),
}

# Where a file has a layout that lasts: who reads it gets what its writer chose.
STRIPED = ("cephfs",)

# Why a storage may not be there.
ABSENT = {
    "cephfs": "it is not up (tests/testbed/cephfs up)",
    "memory": "there is no /dev/shm",
    "nodes-disk": "fake nodes need root",
    "nodes-memory": "fake nodes need root",
}


def storages(scratch: Path) -> dict[str, Storage]:
    """Those that are there now."""
    found = {"disk": Storage("disk", scratch, "mpirun.mpich", min(2, os.cpu_count() or 1), True)}
    if Path("/dev/shm").is_dir():
        found["memory"] = Storage(
            "memory", Path("/dev/shm"), "mpirun.mpich", found["disk"].ranks, rereads=True
        )
    if (TESTBED / "mnt" / "narrow").is_dir():
        launcher = str(TESTBEDS / "cephfs_mpirun")
        found["cephfs"] = Storage("cephfs", TESTBED / "mnt" / "narrow", launcher, 4)
    if os.geteuid() == 0:
        launcher = str(TESTBEDS / "local_nodes")
        found["nodes-disk"] = Storage("nodes-disk", scratch, launcher, 4, True)
        found["nodes-memory"] = Storage("nodes-memory", scratch / SHARED, launcher, 4, rereads=True)
    return found


def words_on(kernel: str, words: tuple[str, ...], storage: Storage) -> tuple[str, ...]:
    """A kernel's flags there."""
    mode = tuple(word for word in words if word == "--collective")
    return SMALL[kernel] + mode if storage.name == "cephfs" and kernel in SMALL else words
