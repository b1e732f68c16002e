"""What the log store keeps as logs, and what it leaves alone: files that MPI_File_open makes on two
or more ranks, in every mode, and nothing else that is opened below a prefix.
"""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from support import mpis
from support.place import Place, main

# Of what the program prints; all else is as on ordinary files.
LOGGED = {
    "on two ranks: a file": "on two ranks: logs",
    "to be deleted when it is closed: a file": "to be deleted when it is closed: logs",
    "by a relative name: a file": "by a relative name: logs",
}
KEPT = {"transfers", "shared", "relative"}


def is_container(path: Path) -> bool:
    return (path / "container").is_file() and (path / "handle").is_file()


def scope(place: Place, name: str) -> None:
    """Bare, and in every mode: the same answers, and logs only where they belong."""
    mpi = mpis.find_mpi(name)
    if mpi is None:
        return
    mpis.use(place, mpi)
    program = mpis.compiled(place, mpi, "logged_scope.c")
    said = {}
    for arm in ("bare", "off", "record", "tune"):
        folder = place.scratch / arm
        folder.mkdir()
        logs = {"IOTUNE_LOGSTORE": folder, "IOTUNE_MODE": arm, "IOTUNE_DB": "none",
                "IOTUNE_LOGSTORE_CLOSE": "keep"}  # fmt: skip
        how = {"preload": True, **logs} if arm != "bare" else {"preload": False}
        done = place.right(place.mpi(2, program, folder, shim=True, **how), arm)
        said[arm] = done.out.decode().splitlines()
        assert "WRONG" not in done.out.decode(), (arm, said[arm])
        if arm == "bare":
            continue
        assert done.said() == [], (arm, done.said())
        assert said[arm] == [LOGGED.get(line, line) for line in said["bare"]], (arm, said)
        names = {path.name for path in folder.iterdir() if path.is_dir()}
        assert names == KEPT and all(is_container(folder / one) for one in KEPT), (arm, names)
        # Any number of ranks opens them again.
        for ranks in (1, 3):
            again = place.right(place.mpi(ranks, program, folder, "again", shim=True, **how), arm)
            assert again.out == b"read again: right\n", (arm, ranks, again.out)


def reported(place: Place) -> None:
    """A prefix that is none, a choice that is none, and a library that is missing: one line each,
    and the program runs.
    """
    for variables, words in (
        ({"IOTUNE_LOGSTORE": "logs"}, "IOTUNE_LOGSTORE=logs: is no absolute path"),
        ({"IOTUNE_LOGSTORE": "/"}, "IOTUNE_LOGSTORE=/: all files cannot be logged"),
        ({"IOTUNE_LOGSTORE": place.scratch, "IOTUNE_LOGSTORE_CLOSE": "melt"}, "CLOSE=melt"),
    ):
        done = place.right(place.run("true", **variables))
        (line,) = done.err.decode().splitlines()
        assert line.startswith("iotune: ") and words in line, line
    alone = place.scratch / "alone"
    alone.mkdir()
    shutil.copy2(place.library, alone / "libiotune.so")
    link = Path("/dev/shm") / place.buffers.name / "alone"
    link.symlink_to(alone)
    preload = [link / "libiotune.so"]
    for damaged in (None, b"no library"):
        if damaged is not None:
            (alone / "libiotune-logstore.so").write_bytes(damaged)
        done = place.right(place.run("true", preload=preload, IOTUNE_LOGSTORE=place.scratch))
        (line,) = done.err.decode().splitlines()
        assert "no file is kept as logs" in line, line


if __name__ == "__main__":
    main(
        {name: functools.partial(scope, name=name) for name in mpis.NAMES} | {"reported": reported}
    )
