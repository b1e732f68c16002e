"""Production runs of one program on storage that can be made slow."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from support.answers import answer, make_database
from support.place import Place

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
        slow = place.build / "lib" / "libslow_small_writes.so"
        done = place.mpi(
            2, place.bin / "cyclic-io", "--collective", "--size", size, "--output", "a.h5",
            preload=[place.library, place.shim, slow], SLOW_SMALL_WRITES=self.slow,
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
