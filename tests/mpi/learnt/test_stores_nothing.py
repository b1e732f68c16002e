"""A database that takes nothing at a run's end: a later run tells all of it."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.place import Place, main, not_verified
from support.small_disk import small_disk


def run(place: Place, database: Path) -> None:
    """Of a program that moves four files' worth of data, which says nothing."""
    done = place.mpi(2, place.bin / "ask_settings", "a.h5", IOTUNE_DB=database)
    place.right(done)
    assert done.said() == [], done.said()


def runs_in(database: Path) -> int:
    with contextlib.closing(sqlite3.connect(database)) as db:
        [(runs,)] = db.execute("SELECT count(DISTINCT run) FROM observations")
    return int(runs)


def compare(
    place: Place, database: Path, trouble: contextlib.AbstractContextManager[None], later: int
) -> None:
    """One run before the trouble, one within, one behind. `later`: of the two last ones how many
    are in the database then; what it does not take as a file that is only read, the user's own has.
    """
    place.right(place.mpi(2, place.bin / "ask_settings", "a.h5", IOTUNE_DB=database))
    before = runs_in(database)
    with trouble:
        run(place, database)
    assert runs_in(database) == before
    run(place, database)
    assert runs_in(database) == before + later
    own = place.data / "iotune" / "patterns.db"
    assert (runs_in(own) if own.exists() else 0) == 2 - later
    assert not list(place.state.rglob("*.trace")), "a run waits for ever"


@contextlib.contextmanager
def writer(database: Path) -> Iterator[None]:
    """Another process changes the database, and takes its time."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def locked(place: Place) -> None:
    database = place.data / "patterns.db"
    compare(place, database, writer(database), later=2)


@contextlib.contextmanager
def read_only_mount(disk: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    with contextlib.suppress(OSError):
        (disk / "fill").write_bytes(bytes(2 << 20))
    yield
    (disk / "fill").unlink()


def read_only(place: Place) -> None:
    with small_disk("size=1m") as disk:
        if disk is None:
            not_verified("a read-only database needs the right to mount")
            return
        compare(place, disk / "patterns.db", read_only_mount(disk), later=1)


def full(place: Place) -> None:
    with small_disk("size=1m") as disk:
        if disk is None:
            not_verified("a database on a full disk needs the right to mount")
            return
        compare(place, disk / "patterns.db", filled(disk), later=2)


if __name__ == "__main__":
    main({"locked": locked, "read-only": read_only, "full": full})
