"""Runs that learn from what they did when they end, and what is known of them then."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

from support.place import Place
from support.preloaded import SECONDS


def kept(place: Place) -> list[Path]:
    """The runs that wait to be learnt from."""
    return sorted((place.state / "iotune" / "learn").glob("*.trace"))


def observed(place: Place) -> set[object]:
    """The runs that the database or the spool knows."""
    runs: set[object] = set()
    database = place.data / "iotune" / "patterns.db"
    if database.exists():
        with contextlib.closing(sqlite3.connect(database)) as db:
            runs.update(run for (run,) in db.execute("SELECT run FROM observations"))
    for left in (place.data / "iotune" / "spool").glob("*.observation.json"):
        runs.add(json.loads(left.read_text())["run"])
    return runs


def irregular_run(
    place: Place, milliseconds: int | None, calls: int = 5000, program: Path | None = None
) -> str:
    """The name of a run of many calls that no loop describes, `calls` of each rank."""
    place.trace.unlink(missing_ok=True)
    done = place.mpi(2, program or place.bin / "irregular_writes", "irregular.dat", calls,
                     IOTUNE_LEARN_MS=milliseconds)  # fmt: skip
    place.right(done, "irregular_writes")
    assert done.said() == [], done.said()
    return str(place.heads()[0]["attributes"]["run"])


def nobody_waits(place: Place, program: Path | None = None) -> None:
    """Rank 0 hangs while it learns: the other rank has gone. It is killed: nothing is lost."""
    words = [str(program or place.bin / "irregular_writes"), "irregular.dat", "20000"]
    with subprocess.Popen(
        [place.mpirun, "-n", "2", *words],
        cwd=place.scratch, start_new_session=True,
        env=place.environment(preload=True, IOTUNE_TRACE=place.trace),
    ) as run:  # fmt: skip
        until = time.monotonic() + SECONDS
        while not kept(place) and time.monotonic() < until:
            time.sleep(0.0002)
        learner = int(kept(place)[0].name.split("-")[1])
        os.kill(learner, signal.SIGSTOP)
        was_learning = kept(place) != []
        try:
            while ranks_alive(place) != {learner} and time.monotonic() < until:
                time.sleep(0.01)
            assert ranks_alive(place) == {learner}
        finally:
            os.kill(learner, signal.SIGKILL)
        run.wait(timeout=SECONDS)
    killed = str(place.heads()[0]["attributes"]["run"])
    if was_learning:
        assert observed(place) == set()
    last = irregular_run(place, 20000, program=program)
    assert kept(place) == [] and observed(place) == {killed, last}, (killed, last, observed(place))


def ranks_alive(place: Place) -> set[int]:
    """Processes of the program in this place."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            here = os.readlink(process / "cwd") == str(place.scratch.resolve())
            if words[0].endswith(b"irregular_writes") and here and state != "Z":
                found.add(int(process.name))
    return found
