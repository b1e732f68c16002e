"""Databases with answers, as training leaves them, for runs under the preload."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from pathlib import Path

from support.repository import ROOT

DECLARED_ID = re.search(
    r"kApplicationId = (0x[0-9a-fA-F]+|\d+)",
    "".join(p.read_text() for p in (ROOT / "patterndb").rglob("*.[ch]*")),
)
assert DECLARED_ID is not None
APPLICATION_ID = int(DECLARED_ID[1], 0)
[SCHEMA] = (ROOT / "patterndb").rglob("schema.sql")


def make_database(path: Path) -> None:
    """An empty database, made of the schema as it is installed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(SCHEMA.read_text())
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    path.chmod(0o600)


def answer(path: Path, settings: str, state: str = "tuned", files: str = "%") -> int:
    """Answer the observed patterns of such files (an SQL pattern) on their platforms, as training
    does; how many there were.
    """
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("INSERT OR IGNORE INTO settings (text) VALUES (?)", (settings,))
        done = db.execute(
            "INSERT INTO tunings (pattern, platform, settings, state, gain, low, high, rounds,"
            " made_at, source) SELECT DISTINCT o.pattern, o.platform, s.id, ?, 2.0, 1.5, 2.5,"
            " 5, ?, 'train' FROM observations o, settings s, workloads w"
            " WHERE o.pattern IS NOT NULL AND s.text = ? AND w.id = o.workload AND w.file LIKE ?",
            (state, time.time(), settings, files),
        )
        with contextlib.suppress(sqlite3.OperationalError):  # a database of version 1 has no shares
            db.execute("UPDATE tunings SET default_share = 0")
        db.commit()
        return done.rowcount
