"""What training measured and only offers: settings that change how others can read a file.

They stand among a database's models, under a name that no decision looks for: nothing applies them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iotune import core
from iotune.models.measuring.paired import Gain

_NAME = "offer layout=log "
_WRITE, _BOTH = "write", "write-then-read"


@dataclass(frozen=True)
class LogOffer:
    """What it would bring to keep a pattern's files as logs (docs/logstore.md)."""

    write: Gain
    both: Gain  # written, and read back by the same ranks
    write_seconds: float  # of the ordinary file

    @property
    def is_worth_it(self) -> bool:
        """Whether writing is faster for certain, and the readers do not pay for it."""
        return self.write.clears_one and self.both.clears_one

    def lines(self, directory: str) -> list[str]:
        """What people are told, with what to type for files of that folder."""
        brought = f"write {_text(self.write)}, write and read back {_text(self.both)}"
        if not self.is_worth_it:
            return [f"layout=log: {brought}: not worth it"]
        return [
            f"layout=log: {brought}; others then need the log store to read the file",
            f"never taken by itself; iotune run --logstore {directory} -- … keeps files so",
        ]


def _gain(numbers: list[float]) -> Gain:
    return Gain(numbers[0], numbers[1], numbers[2], int(numbers[3]))


def _text(gain: Gain) -> str:
    return f"{gain.ratio:.2f}x ({gain.low:.2f} to {gain.high:.2f})"


def keep_offer(
    database: core.Database, byte_key: str, platform: Mapping[str, str], offer: LogOffer
) -> None:
    """Store it beside those of the same pattern before it."""
    rows = [
        f"{name} {gain.ratio:.6g} {gain.low:.6g} {gain.high:.6g} {gain.rounds}"
        for name, gain in ((_WRITE, offer.write), (_BOTH, offer.both))
    ]
    model = {
        "name": _NAME + byte_key,
        "kind": "coefficients",
        "platform": 1,
        "payload": "\n".join([*rows, f"seconds {offer.write_seconds:.6g}"]) + "\n",
        "made_at": time.time(),
    }
    named = {name: value for name, value in platform.items() if name != "id"}
    text = {
        "format": "iotune-patterns",
        "version": 1,
        "platforms": [{"id": 1, **named}],
        "models": [model],
    }
    database.import_json(json.dumps(text), "iotune train")


class Offers:
    """A database's offers, by the row that answers a pattern.

    The database is read once, at the first question: a run may have thousands of files.
    """

    def __init__(self, database: core.Database) -> None:
        self._database = database
        self._keys: dict[int, str] | None = None
        self._models: list[dict[str, Any]] | None = None

    def of_row(self, row: int) -> LogOffer | None:
        """The latest one of the pattern that a row answers; None: there is none."""
        if self._keys is None:
            self._keys = {
                answer["id"]: str(pattern.get("byte_key", ""))
                for pattern in self._database.patterns()["patterns"]
                for answer in pattern["answers"]
            }
        key = self._keys.get(row, "")
        if not key:
            return None
        if self._models is None:
            self._models = _models_of(self._database)
        return _latest(self._models, key)


def _models_of(database: core.Database) -> list[dict[str, Any]]:
    return [
        one
        for one in json.loads(database.export_json()).get("models", [])
        if str(one["name"]).startswith(_NAME)
    ]


def offer_of(database: core.Database, byte_key: str) -> LogOffer | None:
    """The latest one of a pattern; None: there is none."""
    return _latest(_models_of(database), byte_key) if byte_key else None


def _latest(models: list[dict[str, Any]], byte_key: str) -> LogOffer | None:
    named = [one for one in models if one["name"] == _NAME + byte_key]
    if not named:
        return None
    found: dict[str, list[float]] = {}
    try:
        for line in max(named, key=lambda one: one["made_at"])["payload"].splitlines():
            name, *numbers = line.split()
            found[name] = [float(one) for one in numbers]
        return LogOffer(_gain(found[_WRITE]), _gain(found[_BOTH]), found["seconds"][0])
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # of another version
