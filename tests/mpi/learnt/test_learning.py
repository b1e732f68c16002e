"""Settings that production runs take back: a real program under MPICH, on storage that gets slow.

The preload decides, draws which runs stay at the default, observes and folds all by itself; the
test only runs the program, and reads the database.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable

from support.answers import answer
from support.learning_runs import irregular_run, kept, nobody_waits, observed
from support.mpis import compiled, find_mpi, use
from support.place import Place, main, not_verified
from support.repository import IOTUNE
from support.slow_storage import Storage


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
    reported = json.loads(ledger)
    assert (reported["reverts"], reported["refusals"], reported["drifts"]) == (1, 0, 0), reported
    # Those that ran with the settings on the slow storage have lost.
    assert (
        0 < reported["slower_files"] <= reported["files"] and reported["hours_lost_by_slower"] > 0
    ), reported


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


def nobody_waits_under(name: str) -> Callable[[Place], None]:
    """The same with another MPI and its launcher."""

    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None:
            return
        use(place, mpi)
        nobody_waits(place, compiled(place, mpi, "irregular_writes.c"))

    return case


if __name__ == "__main__":
    main({"reverted": reverted, "not-explored": not_explored, "drift": drift,
          "drift-within-run": drift_within_run, "gone-on-with": gone_on_with,
          "known-after-ten": known_after_ten,
          "known-after-ten-of-a-million": known_after_ten_of_a_million,
          "nobody-waits": nobody_waits,
          **{f"nobody-waits-{name}": nobody_waits_under(name)
             for name in ("openmpi-4", "openmpi-5", "mpich-5")}})  # fmt: skip
