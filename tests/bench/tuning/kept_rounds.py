"""Which of the rounds that a benchmark kept may be gone on with: those of its build and answer.

A figure pooled of two builds is no build's. Rounds of another one, or of another trained answer,
stay in the JSON under "earlier" with what they were of, and are in no figure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIBRARIES = ("libiotune.so", "libiotune-db.so")
_OF = "measured with"

Key = dict[str, Any]


def build_key(build: Path) -> Key:
    """What of a build decides how its iotune behaves; a library that is not there has no sum."""
    paths = {name: build / "lib" / name for name in LIBRARIES}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for name, path in paths.items()
    }


def key_of(build: Mapping[str, Any], own: Mapping[str, Any]) -> Key:
    """A build and the answer that a case was trained to."""
    trained = own.get("trained", {})
    return {**build, "answer": {name: trained.get(name) for name in ("state", "settings")}}


def fitting(own: Mapping[str, Any], name: str, key: Key) -> list[dict[str, float]]:
    """The rounds called `name`, where they were measured with `key`."""
    return own.get(name, []) if own.get(_OF, {}).get(name) == key else []


def go_on(own: dict[str, Any], name: str, key: Key) -> list[dict[str, float]]:
    """The rounds called `name` to add to; those of another key are put aside."""
    of: dict[str, Key] = own.setdefault(_OF, {})
    if own.get(name) and of.get(name) != key:
        aside = {"name": name, _OF: of.get(name), "rounds": own.pop(name)}
        own.setdefault("earlier", []).append(aside)
    of[name] = key
    rounds: list[dict[str, float]] = own.setdefault(name, [])
    return rounds
