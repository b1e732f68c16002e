"""Settings that production runs take back: a real program under MPICH, on storage that gets slow.

The preload decides, draws which runs stay at the default, observes and folds all by itself; the
test only runs the program, and reads the database.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import SECONDS, Place, main, not_verified  # noqa: E402
from mpis import compiled, find_mpi, use  # noqa: E402
from test_tuning import answer, make_database  # noqa: E402

IOTUNE = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "iotune"
# Each rank writes its elements one by one.
SETTINGS = "romio_cb_write=disable;romio_ds_write=disable"
SHARE = 0.5  # of runs at the default: one in eight takes some thirty runs to find out


class Storage:
    """A program's runs on one storage."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.db = place.data / "iotune" / "patterns.db"
        self.slow = place.scratch / "slow"
        self.arms: list[str] = []
        self.explore: str | None = None
        self.env: dict[str, Any] = {}
        make_database(self.db)

    def run(self, size: int = 300) -> None:
        """One production run."""
        place = self.place
        place.trace.unlink(missing_ok=True)
        shim = place.build / "lib" / "libslow_small_writes.so"
        done = place.mpi(
            2, place.bin / "cyclic-io", "--collective", "--size", size, "--output", "a.h5",
            LD_PRELOAD=f"{place.preload(shim=True)}:{shim}", SLOW_SMALL_WRITES=self.slow,
            IOTUNE_EXPLORE=self.explore, **self.env,
        )  # fmt: skip
        place.right(done, "cyclic-io")
        assert done.said() == [], done.said()
        decisions = [call for call in place.calls() if call["name"] == "iotune_decision"]
        assert len(decisions) == 1, decisions
        self.arms.append(decisions[0]["texts"][1])

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            return db.execute(sql).fetchall()

    def newest(self) -> tuple[object, ...]:
        """State and evidence of the newest answer."""
        return self.rows("SELECT state, evidence, id FROM tunings ORDER BY made_at DESC, id DESC")[
            0
        ]

    def train(self) -> None:
        """As if the settings had been measured to be better."""
        assert answer(self.db, SETTINGS) == 1
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.execute("UPDATE tunings SET default_share = ?", (SHARE,))
            db.commit()


def reverted(place: Place) -> None:
    """Storage becomes slow for the settings: they are taken back, and that is said."""
    site = Storage(place)
    site.run()
    spool = place.data / "iotune" / "spool"
    assert list(spool.glob("*")) == [], "the run's end folds what it observed"
    site.train()
    for _ in range(6):
        site.run()
    assert site.newest()[0] == "tuned", site.newest()
    site.slow.touch()
    while site.newest()[0] == "tuned" and len(site.arms) < 80:
        site.run()
    state, evidence, _ = site.newest()
    assert state == "reverted", (state, site.arms)
    assert {"exact", "explore"} <= set(site.arms), site.arms
    assert "at the default" in str(evidence), evidence
    print(f"reverted after {len(site.arms) - 7} runs on the slow storage: {evidence}")
    # From now on the default, and no more draws.
    site.arms.clear()
    for _ in range(3):
        site.run()
    assert site.arms == ["exact"] * 3, site.arms
    assert site.rows("SELECT text FROM settings WHERE id = (SELECT settings FROM observations"
                     " ORDER BY id DESC)") == [("",)]  # fmt: skip
    if not IOTUNE.exists():
        not_verified("what explain and history say of a revert: iotune is not in .venv")
        return
    said = place.right(place.run(IOTUNE, "explain", place.trace, preload=False)).out.decode()
    assert "taken back" in said and str(evidence) in " ".join(said.split()), said
    said = place.right(place.run(IOTUNE, "db", "history", "1", preload=False)).out.decode()
    assert "tuned" in said and "reverted" in said and "evidence" in said, said
    ledger = place.right(place.run(IOTUNE, "db", "ledger", "--json", preload=False)).out
    told = json.loads(ledger)
    assert (told["reverts"], told["refusals"], told["drifts"]) == (1, 0, 0), told
    # Those that ran with the settings on the slow storage have lost.
    assert 0 < told["slower_files"] <= told["files"] and told["hours_lost_by_slower"] > 0, told


def not_explored(place: Place) -> None:
    """Where the user wants no run at the default, none is, and none is evidence."""
    site = Storage(place)
    site.explore = "off"
    site.run()
    site.train()
    for _ in range(6):
        site.run()
    assert site.arms == ["unknown", *["exact"] * 6], site.arms
    sources = {source for (source,) in site.rows("SELECT decision_source FROM observations")}
    assert sources == {"unknown", "held"}, sources
    assert site.rows("SELECT * FROM trials") == []


def drift(place: Place) -> None:
    """A new input deck is noticed, and nothing is trusted until it fits again."""
    site = Storage(place)
    site.run()
    site.train()
    with contextlib.closing(sqlite3.connect(site.db)) as db:
        db.execute("UPDATE tunings SET default_share = 0")
        db.commit()
    site.run()
    site.run(size=200)
    assert site.arms == ["unknown", "exact", "exact"], site.arms
    assert len(site.rows("SELECT 1 FROM drifts")) == 1
    site.run(size=200)
    # The new deck has no answer of its own; the old one's may serve as a similar pattern's.
    of_another = ("untrained", "similar")
    assert site.arms[-1] in of_another, site.arms
    site.run()
    assert site.arms[-1] in of_another, site.arms
    site.run()
    assert site.arms[-1] == "drift", site.arms  # shown once again: not yet trusted
    site.run()
    assert site.arms[-1] == "exact", site.arms
    assert len(site.rows("SELECT 1 FROM drifts")) == 2


def drift_within_run(place: Place) -> None:
    """Other sizes are noticed at a run's first file: its other files are left alone."""
    site = Storage(place)

    def sources(size: int) -> list[str]:
        place.trace.unlink(missing_ok=True)
        done = place.mpi(2, place.bin / "cyclic-io", "--collective", "--size", size, "--steps", 3,
                         "--output", "a.h5", shim=True, IOTUNE_EXPLORE="off")  # fmt: skip
        place.right(done, "cyclic-io")
        calls = sorted(place.calls(), key=lambda call: call["start_ns"])
        return [call["texts"][1] for call in calls if call["name"] == "iotune_decision"]

    sources(20000)
    assert answer(site.db, "cb_nodes=2") == 1
    assert sources(20000) == ["exact"] * 3
    assert sources(100000) == ["exact", "drift", "drift"]


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
    """The name of a run of many calls that no loop stands for, `calls` of each rank."""
    place.trace.unlink(missing_ok=True)
    done = place.mpi(2, program or place.bin / "irregular_writes", "irregular.dat", calls,
                     IOTUNE_LEARN_MS=milliseconds)  # fmt: skip
    place.right(done, "irregular_writes")
    assert done.said() == [], done.said()
    return str(place.heads()[0]["attributes"]["run"])


def gone_on_with(place: Place) -> None:
    """Ends of runs without time: each goes on where the one before left off."""
    first = irregular_run(place, 0)
    assert len(kept(place)) == 1 and observed(place) == set(), observed(place)
    runs = 1
    while first not in observed(place):
        irregular_run(place, 10)
        runs += 1
        assert runs < 200, kept(place)
    print(f"the first run was known after {runs} runs")
    last = irregular_run(place, 20000)
    assert kept(place) == [], kept(place)
    assert {first, last} <= observed(place) and len(observed(place)) == runs + 1
    with contextlib.closing(sqlite3.connect(place.data / "iotune" / "patterns.db")) as db:
        assert db.execute("SELECT count(*) FROM observations").fetchone() == (runs + 1,)


def known_after_ten(place: Place, milliseconds: int | None = 200, calls: int = 50_000) -> None:
    """Ten equal runs, and the workload is known, however many its calls.

    The time of a run is ten times what is there by default: other tests run beside this one.
    """
    first = irregular_run(place, milliseconds, calls)
    runs = 1
    while first not in observed(place) and runs < 10:
        irregular_run(place, milliseconds, calls)
        runs += 1
    print(f"the first run was known after {runs} runs")
    assert first in observed(place), kept(place)


def known_after_ten_of_a_million(place: Place) -> None:
    """With a million calls of both ranks, by the time that a run has by default."""
    known_after_ten(place, None, 500_000)


def nobody_waits(place: Place, program: Path | None = None) -> None:
    """Rank 0 hangs while it learns: the other rank has gone. It is killed: nothing is lost."""
    words = [str(program or place.bin / "irregular_writes"), "irregular.dat", "20000"]
    with subprocess.Popen(
        [place.mpirun, "-n", "2", *words],
        cwd=place.scratch, start_new_session=True,
        env=place.environment(LD_PRELOAD=place.preload(), IOTUNE_TRACE=place.trace),
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


def nobody_waits_under(name: str) -> Callable[[Place], None]:
    """The same with another MPI and its launcher."""

    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None:
            return
        use(place, mpi)
        nobody_waits(place, compiled(place, mpi, "irregular_writes.c"))

    return case


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


if __name__ == "__main__":
    main({"reverted": reverted, "not-explored": not_explored, "drift": drift,
          "drift-within-run": drift_within_run, "gone-on-with": gone_on_with,
          "known-after-ten": known_after_ten,
          "known-after-ten-of-a-million": known_after_ten_of_a_million,
          "nobody-waits": nobody_waits,
          **{f"nobody-waits-{name}": nobody_waits_under(name)
             for name in ("openmpi-4", "openmpi-5", "mpich-5")}})  # fmt: skip
