"""A program whose files all stay at the default is asked about once in many opens, on all ranks."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))
from harness import Place, main  # noqa: E402
from test_tuning import make_database  # noqa: E402

# patterndb/unasked_opens.h: the first file of each series is looked up, the sixteenth answer after
# these ends the asking for 63 opens.
LAST_ASKED = 17
PERIOD = 64


def answer(db: Path, state: str, settings: str, files: str) -> int:
    """Answer the patterns of such files, as training does; how many there were."""
    with contextlib.closing(sqlite3.connect(db)) as base:
        base.execute("INSERT OR IGNORE INTO settings (text) VALUES (?)", (settings,))
        done = base.execute(
            "INSERT INTO tunings (pattern, platform, settings, state, gain, low, high, rounds,"
            " made_at, source, default_share) SELECT DISTINCT o.pattern, o.platform, s.id, ?, 2.0,"
            " 1.5, 2.5, 5, ?, 'train', 0 FROM observations o, settings s, workloads w WHERE"
            " o.pattern IS NOT NULL AND w.id = o.workload AND w.file LIKE ? AND s.text = ?",
            (state, time.time(), files, settings),
        )
        base.commit()
        return done.rowcount


def trained(place: Place) -> Path:
    """A database in which both series stay at the default."""
    db = place.data / "iotune" / "patterns.db"
    make_database(db)
    place.right(place.mpi(2, place.bin / "many_opens", 2), "many_opens")
    assert answer(db, "default-is-best", "", "%") == 2
    return db


def hints(place: Place, *arguments: object) -> list[str]:
    """What each open file had for romio_cb_write."""
    place.trace.unlink(missing_ok=True)
    done = place.right(place.mpi(2, place.bin / "many_opens", *arguments), "many_opens")
    return [line.split()[2] for line in done.out.decode().splitlines()]


def decisions(place: Place) -> dict[str, str]:
    """Of each file where its decision comes from."""
    return {
        Path(call["texts"][0]).name: call["texts"][1]
        for call in place.calls()
        if call["name"] == "iotune_decision"
    }


def told_once(place: Place) -> None:
    """What is trained meanwhile is met by the next question, on all ranks; each file has a word."""
    db = trained(place)
    bare = hints(place, 2)[0]
    assert bare != "disable"
    fresh = place.scratch / "fresh.db"
    shutil.copy(db, fresh)
    assert answer(fresh, "tuned", "romio_cb_write=disable", "b%") == 1
    asked = LAST_ASKED + 2 * PERIOD
    files, at = asked + 40, asked - PERIOD + 10
    found = hints(place, files, at, fresh, db)
    tuned = [number >= asked and number % 2 == 1 for number in range(files)]
    expected = ["disable" if one else bare for one in tuned]
    assert found == expected, [i for i in range(files) if found[i] != expected[i]]
    # Of those, too, that nobody asked about.
    assert decisions(place) == {
        f"{'b' if number % 2 else 'a'}{number:05}.h5": "exact" for number in range(files)
    }


def always_asked(place: Place) -> None:
    """Where one series has settings every file is asked about."""
    db = trained(place)
    assert answer(db, "tuned", "romio_cb_write=disable", "b%") == 1
    found = hints(place, 100)
    assert [value == "disable" for value in found] == [False, True] * 50, found


def off(place: Place) -> None:
    """Without a database nothing is said of any file, and nothing hangs."""
    done = place.mpi(2, place.bin / "many_opens", 40, IOTUNE_DB="none")
    assert "disable" not in place.right(done, "many_opens").out.decode()
    assert decisions(place) == {}


if __name__ == "__main__":
    main({"told-once": told_once, "always-asked": always_asked, "off": off})
