"""Answers that a user has, without the minutes that training takes."""

from __future__ import annotations

import sqlite3
from typing import Any

from support.installed.user_home import Home


def given_by_hand(home: Home, settings: str) -> None:
    """An answer for the only pattern."""
    (pattern,) = home.asked("db", "list")["patterns"]
    home.type("db", "add", str(pattern["id"]), settings)


def given_as_measured(home: Home, settings: str) -> None:
    """The same with a gain, without the minutes that a measurement takes."""
    given_by_hand(home, settings)
    (database,) = home.root.rglob("patterns.db")
    with sqlite3.connect(database) as opened:
        opened.execute("UPDATE tunings SET gain = 1.5, low = 1.4, high = 1.6, rounds = 5")
    opened.close()


def last(home: Home) -> dict[str, Any]:
    return dict(home.asked("explain")["files"][0])


def row_of(home: Home, descriptor: str) -> int:
    """The row of the answer of a pattern in the database."""
    for pattern in home.asked("db", "list")["patterns"]:
        if pattern["descriptor"] == descriptor:
            return int(pattern["answers"][0]["id"])
    raise AssertionError(f"{descriptor} has no answer")
