"""A program whose files all stay at the default is asked about once in many opens, on all ranks."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

from support.answers import answer, make_database
from support.place import Place, main

# patterndb/decide/unasked_opens.h: the first file of each series is looked up, the
# sixteenth answer after these ends the asking for 63 opens.
LAST_ASKED = 17
PERIOD = 64


def trained(place: Place, ranks: int = 2, mixed: int = 0, patterns: int = 2) -> Path:
    """A database in which all that the program opens stays at its default."""
    db = place.data / "iotune" / "patterns.db"
    make_database(db)
    place.right(place.mpi(ranks, place.bin / "many_opens", 6, 0, mixed, shim=True), "many_opens")
    assert answer(db, "", "default-is-best") == patterns
    return db


def hints(place: Place, ranks: int, *arguments: object, **env: object) -> list[str]:
    """What each open file had for romio_cb_write."""
    place.trace.unlink(missing_ok=True)
    # The shim: beside other work MPICH burns its time slices.
    done = place.mpi(ranks, place.bin / "many_opens", *arguments, shim=True, **env)
    return [line.split()[2] for line in place.right(done, "many_opens").out.decode().splitlines()]


def decisions(place: Place) -> dict[str, str]:
    """Of each file where its decision comes from."""
    return {
        Path(call["texts"][0]).name: call["texts"][1]
        for call in place.calls()
        if call["name"] == "iotune_decision"
    }


def tuned_meanwhile(place: Place, db: Path) -> Path:
    """A copy of the database in which the second series is tuned."""
    fresh = place.scratch / "fresh.db"
    shutil.copy(db, fresh)
    assert answer(fresh, "romio_cb_write=disable", files="b%") == 1
    return fresh


def once(place: Place) -> None:
    """What is trained meanwhile is met by the next question, on all ranks; each file has a word."""
    db = trained(place)
    bare = hints(place, 2, 2, 0, 0)[0]
    assert bare != "disable"
    asked = LAST_ASKED + 2 * PERIOD
    files, at = asked + 40, asked - PERIOD + 10
    found = hints(place, 2, files, 0, 0, at, tuned_meanwhile(place, db), db)
    tuned = [number >= asked and number % 2 == 1 for number in range(files)]
    expected = ["disable" if one else bare for one in tuned]
    assert found == expected, [i for i in range(files) if found[i] != expected[i]]
    # Of those, too, that nobody asked about.
    assert decisions(place) == {
        f"{'b' if number % 2 else 'a'}{number:05}.h5": "exact" for number in range(files)
    }


def other_communicators(place: Place) -> None:
    """Opens by some of the ranks are counted on none, those through MPI-IO as HDF5's."""
    db = trained(place, 3, 1, patterns=3)
    files, at = 400, 100
    found = hints(place, 3, files, 0, 1, at, tuned_meanwhile(place, db), db)
    first = found.index("disable")
    # A fifth of the opens are MPI-IO's.
    assert at < first <= at + PERIOD, first
    disabled = [number for number in range(files) if found[number] == "disable"]
    assert disabled == list(range(first, files, 2)), disabled


def always_asked(place: Place) -> None:
    """Where one series has settings each of its files gets them, however late it begins."""
    db = trained(place)
    assert answer(db, "romio_cb_write=disable", files="b%") == 1
    found = hints(place, 2, 100, 41, 0)
    tuned = [number >= 41 and number % 2 == 1 for number in range(100)]
    assert [value == "disable" for value in found] == tuned, found


def newcomer(place: Place) -> None:
    """A series that nobody knows waits for one question, and is asked about from then on."""
    db = trained(place)
    with contextlib.closing(sqlite3.connect(db)) as base:
        base.execute("DELETE FROM workload_patterns WHERE workload IN"
                     " (SELECT id FROM workloads WHERE file LIKE 'b%')")  # fmt: skip
        base.commit()
    found = hints(place, 2, 300, 0, 0)
    # In its first files it is met by questions, and so no open goes unasked: candidates are tried.
    tried = [number for number in range(300) if found[number] == "disable"]
    assert tried and tried[0] < 2 * LAST_ASKED, tried
    sources = decisions(place)
    assert all(sources[f"b{number:05}.h5"] == "series" for number in range(3, 300, 2)), sources


def threads(place: Place) -> None:
    """Where threads may open at the same time each file is asked about."""
    db = trained(place)
    found = hints(place, 2, 60, 0, 2, 40, tuned_meanwhile(place, db), db)
    assert [value == "disable" for value in found] == [i > 40 and i % 2 == 1 for i in range(60)]


def off(place: Place) -> None:
    """Without a database nothing is said of any file, and nothing hangs."""
    assert "disable" not in hints(place, 2, 40, 0, 1, IOTUNE_DB="none")
    assert decisions(place) == {}


if __name__ == "__main__":
    main(
        {
            "once": once,
            "other-communicators": other_communicators,
            "always-asked": always_asked,
            "newcomer": newcomer,
            "threads": threads,
            "off": off,
        }
    )
