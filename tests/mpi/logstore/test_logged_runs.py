"""Parallel programs on logged files: what they write is what they write elsewhere, byte for byte,
and any number of ranks reads it back.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.log_containers import copy_of_logs
from support.place import Place, main, not_verified

KEEP = {"IOTUNE_LOGSTORE_CLOSE": "keep"}

KERNELS = {
    "vpic-io": ("--particles", 3001),
    "flash-io": ("--size", "5x3x3x3"),
    "gcrm-io": ("--size", "1x1x777"),
    "block-cyclic-io": ("--size", 512, "--block", 32),
}  # fmt: skip


def is_container(path: Path) -> bool:
    return (path / "container").is_file() and (path / "handle").is_file()


def flattened(place: Place, folder: Path) -> Path | None:
    """The folder's files as ordinary ones, read by a program that knows of no logs."""
    for path in folder.iterdir():
        assert is_container(path), path
    return copy_of_logs(place, folder)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha1(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def dumps(folder: Path) -> dict[str, str]:
    return {
        path.name: subprocess.run(
            ["h5dump", path.name], cwd=folder, capture_output=True, check=True, text=True
        ).stdout
        for path in folder.iterdir()
    }


def kernel(name: str) -> Callable[[Place], None]:
    def case(place: Place) -> None:
        for mode in ("--independent", "--collective"):
            folders = {}
            for arm in ("bare", "logged"):
                folder = folders[arm] = place.scratch / f"{arm} {mode}"
                folder.mkdir()
                frozen = place.build / "lib" / "libfrozen_time.so"
                logged = {"IOTUNE_LOGSTORE": folder, **KEEP} if arm == "logged" else {}
                preload = [place.library, frozen] if logged else [frozen]
                done = place.mpi(2, place.bin / name, *KERNELS[name], mode, cwd=folder,
                                 preload=preload, shim=True, **logged)  # fmt: skip
                place.right(done, f"{name} {mode}")
            flat = flattened(place, folders["logged"])
            assert digests(folders["bare"]), f"{name} wrote no file"
            if flat is not None:
                if digests(flat) != digests(folders["bare"]):
                    # Holes are undefined.
                    not_verified(f"{name} {mode}: bytes differ; compared by h5dump")
                assert dumps(flat) == dumps(folders["bare"])
                shutil.rmtree(flat)
            # The kernel's own formula says it too, read from the logs.
            read = place.mpi(2, place.bin / name, *KERNELS[name], mode, "--read", "--verify",
                             cwd=folders["logged"], IOTUNE_LOGSTORE=folders["logged"],
                             **KEEP)  # fmt: skip
            place.right(read, f"{name} {mode} --read --verify")
            for folder in folders.values():
                shutil.rmtree(folder)

    return case


def other_ranks(place: Place) -> None:
    """Every way of fs-test to write by MPI-IO; read back by one rank, by as many and by more."""
    logs = place.scratch / "logs"
    logs.mkdir()
    common = ("--record", 96, "--records", 50, "--output", logs / "a.out")
    ways = (("strided", "--mpiio"), ("segmented", "--mpiio"), ("strided", "--collective"),
            ("segmented", "--collective", "--fsync"))  # fmt: skip
    for way in ways:
        write = place.mpi(3, place.bin / "fs-test", "--pattern", *way, *common, shim=True,
                          IOTUNE_LOGSTORE=logs, **KEEP)  # fmt: skip
        place.right(write, f"write {way}")
        for ranks in (1, 3, 4):
            for more in (("--mpiio",), ("--mpiio", "--read-as", "segmented", "--shuffle", 1),
                         ("--mpiio", "--read-record", 40), ("--collective",)):  # fmt: skip
                read = place.mpi(
                    ranks, place.bin / "fs-test", "--pattern", way[0], *common, "--read",
                    "--written-by", 3, "--verify", *more, shim=True, IOTUNE_LOGSTORE=logs, **KEEP,
                )  # fmt: skip
                place.right(read, f"read {way} {ranks} {more}")
        # A byte that differs is found: what was read is what is in the logs.
        path = next(path for path in logs.iterdir())
        log = max(path.glob("*.log"), key=lambda one: one.stat().st_size)
        held = bytearray(log.read_bytes())
        held[len(held) // 2] ^= 1
        log.write_bytes(held)
        read = place.mpi(1, place.bin / "fs-test", "--pattern", way[0], *common, "--read",
                         "--written-by", 3, "--verify", "--mpiio", IOTUNE_LOGSTORE=logs,
                         **KEEP)  # fmt: skip
        assert read.status == 1 and b"byte" in read.err, read
        shutil.rmtree(logs)
        logs.mkdir()


def checkpoint(place: Place) -> None:
    """An HDF5 checkpoint of three ranks: any number of ranks reads it back, and as an ordinary file
    it is the one that an untouched run writes.
    """
    sums: dict[str, set[str]] = {}
    for arm in ("bare", "logged"):
        folder = place.scratch / arm
        folder.mkdir()
        frozen = place.build / "lib" / "libfrozen_time.so"
        how: dict[str, Any] = {"preload": [frozen], "shim": True, "IOTUNE_DB": "none", **KEEP}
        if arm == "logged":
            how |= {"preload": [place.library, frozen], "IOTUNE_LOGSTORE": folder}
        program = place.bin / "bd-cats-io"
        place.right(place.mpi(3, program, "--write", folder / "a.h5", 4000, **how), f"write {arm}")
        for ranks in (1, 2, 3, 4):
            read = place.mpi(ranks, program, folder / "a.h5", 250, 0, **how)
            place.right(read, f"{arm}, read by {ranks}")
            sums.setdefault(arm, set()).add(read.out.split()[-1].decode())
    assert len(sums["bare"]) == 1 and sums["logged"] == sums["bare"], sums
    flat = flattened(place, place.scratch / "logged")
    if flat is not None:
        assert dumps(flat) == dumps(place.scratch / "bare")
        assert digests(flat) == digests(place.scratch / "bare")


def written_again(place: Place) -> None:
    """A file that is written over and over keeps the last bytes, no matter who wrote them."""
    logs = place.scratch / "logs"
    logs.mkdir()
    for seed, ranks in ((1, 2), (2, 3), (3, 1), (4, 2)):
        common = ("--record", 64, "--records", 12 // ranks, "--output", logs / "a.out",
                  "--seed", seed, "--over", "--mpiio")  # fmt: skip
        way = "segmented" if seed % 2 else "strided"
        done = place.mpi(ranks, place.bin / "fs-test", "--pattern", way, *common, "--write",
                         "--read", "--verify", shim=True, IOTUNE_LOGSTORE=logs,
                         **KEEP)  # fmt: skip
        place.right(done, f"seed {seed}")


if __name__ == "__main__":
    main(
        {name: kernel(name) for name in KERNELS}
        | {"other-ranks": other_ranks, "written-again": written_again, "checkpoint": checkpoint}
    )
