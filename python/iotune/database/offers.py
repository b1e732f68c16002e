"""What training measured and only offers: what changes how others can read a file, or when.

They stand among a database's models. Nothing applies them by itself: decisions look for those of
gathering alone, and only where the user or the site allows that (patterndb/decide/gather_offer.h).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Union

from iotune import core
from iotune.models.measuring.paired import Gain

_WRITE, _BOTH = "write", "write-then-read"


@dataclass(frozen=True)
class LogOffer:
    """What it would bring to keep a pattern's files as logs (docs/logstore.md)."""

    write: Gain
    both: Gain  # written, and read back by the same ranks
    write_seconds: float  # of the ordinary file

    setting: ClassVar[str] = "layout=log"

    @property
    def gains(self) -> dict[str, Gain]:
        """By the names they are stored under."""
        return {_WRITE: self.write, _BOTH: self.both}

    @property
    def is_worth_it(self) -> bool:
        """Whether writing is faster for certain, and the readers do not pay for it."""
        return self.write.clears_one and self.both.clears_one

    @property
    def text(self) -> str:
        """What it would bring, in words."""
        brought = f"write {_text(self.write)}, write and read back {_text(self.both)}"
        cost = "others then need the log store to read the file"
        return f"layout=log: {brought}" + (f"; {cost}" if self.is_worth_it else ": not worth it")


@dataclass(frozen=True)
class GatherOffer:
    """What it would bring to let a pattern's small writes wait (docs/explain/gather.md)."""

    write: Gain
    write_seconds: float  # with none that waits
    flush: tuple[tuple[str, str], ...] = ()  # hints: how what waited goes out

    setting: ClassVar[str] = "gather"

    @property
    def gains(self) -> dict[str, Gain]:
        """By the names they are stored under."""
        return {_WRITE: self.write}

    @property
    def settings(self) -> str:
        """What a decision applies, as the database has settings."""
        chosen = {**dict(self.flush), "iotune_gather_writes": "memory"}
        return ";".join(f"{name}={value}" for name, value in sorted(chosen.items()))

    @property
    def is_worth_it(self) -> bool:
        """Whether writing is faster for certain."""
        return self.write.clears_one

    @property
    def text(self) -> str:
        """What it would bring, in words."""
        cost = "other ranks then see what was written at a sync or a close, and not before"
        how = "".join(f", {name}={value}" for name, value in self.flush)
        return f"gather: write {_text(self.write)}{how if self.is_worth_it else ''}" + (
            f"; {cost}" if self.is_worth_it else ": not worth it"
        )


Offer = Union[LogOffer, GatherOffer]


@dataclass(frozen=True)
class StoredOffer:
    """An offer with what it was measured on."""

    offer: Offer
    platform: dict[str, str]  # filesystem, mpi, hdf5, host_class


def _gain(numbers: list[float]) -> Gain:
    return Gain(numbers[0], numbers[1], numbers[2], int(numbers[3]))


def _text(gain: Gain) -> str:
    return f"{gain.ratio:.2f}x ({gain.low:.2f} to {gain.high:.2f})"


def keep_offer(
    database: core.Database, byte_key: str, platform: Mapping[str, str], offer: Offer
) -> None:
    """Store it beside those of the same pattern before it."""
    rows = [
        f"{name} {gain.ratio:.6g} {gain.low:.6g} {gain.high:.6g} {gain.rounds}"
        for name, gain in offer.gains.items()
    ]
    lines = [*rows, f"seconds {offer.write_seconds:.6g}", *_settings(offer)]
    model = {
        "name": f"offer {offer.setting} {byte_key}",
        "kind": "coefficients",
        "platform": 1,
        "payload": "\n".join(lines) + "\n",
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


def _settings(offer: Offer) -> list[str]:
    return [f"settings {offer.settings}"] if isinstance(offer, GatherOffer) else []


def stored_offers(database: core.Database) -> dict[str, list[StoredOffer]]:
    """All offers of a database by their patterns' byte keys, the latest first.

    Those of another version of iotune are left out.
    """
    stored = json.loads(database.export_json())
    platforms = {one["id"]: one for one in stored.get("platforms", [])}
    found: dict[str, list[StoredOffer]] = {}
    for model in sorted(stored.get("models", []), key=lambda one: -float(one["made_at"])):
        kind, _, named = str(model["name"]).partition(" ")
        setting, _, key = named.partition(" ")
        offer = _read(setting, str(model["payload"])) if kind == "offer" else None
        if offer is not None:
            platform = {name: str(text) for name, text in platforms[model["platform"]].items()}
            found.setdefault(key, []).append(StoredOffer(offer, platform))
    return found


def _read(setting: str, payload: str) -> Offer | None:
    found: dict[str, list[float]] = {}
    flush: tuple[tuple[str, str], ...] = ()
    try:
        for line in payload.splitlines():
            name, *words = line.split()
            if name == "settings":
                chosen = dict(one.split("=", 1) for one in words[0].split(";"))
                del chosen["iotune_gather_writes"]
                flush = tuple(sorted(chosen.items()))
            else:
                found[name] = [float(one) for one in words]
        if setting == LogOffer.setting:
            return LogOffer(_gain(found[_WRITE]), _gain(found[_BOTH]), found["seconds"][0])
        if setting == GatherOffer.setting:
            return GatherOffer(_gain(found[_WRITE]), found["seconds"][0], flush)
    except (KeyError, IndexError, TypeError, ValueError):
        pass
    return None
