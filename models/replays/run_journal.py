"""Each measurement of a training on disk at once: what was killed goes on where it was.

A training's course depends on its times and its seed alone. So a resumed one asks for the same
runs in the same order, and is given what they took, up to the one that was under way.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune.errors import Error
from iotune.locations import make_private, state_dir

# The storage of last week is another one.
_LONGEST_SECONDS = 86400.0


@dataclass(frozen=True)
class Kept:
    """What one run reported."""

    arm: str
    settings: str  # canonical
    seconds: float | None  # None: it failed
    effect: str
    file_seconds: tuple[float, ...] = ()


class RunJournal:
    """Of one training: `key` says all that its course depends on, in JSON, but for its candidates.

    Which these are, and in what order, may rest on what was measured before it. So a resumed one
    takes those that were begun with.
    """

    def __init__(self, path: Path, key: str, resume: bool):
        self.path, self._key = path, key
        # Canonical texts of the one to resume; empty where there is none.
        self.candidates, kept = _read(path, key) if resume else ([], [])
        self._waiting = deque(kept)
        self.resumed = len(self._waiting)

    def begin(self, candidates: Sequence[str]) -> None:
        """Keep what is measured of these from now on. Raises Error where it cannot be written."""
        if list(candidates) != self.candidates:
            self._waiting.clear()
            self.resumed = 0
        try:
            make_private(self.path.parent)
            self._file = self.path.open("w", encoding="utf-8")
            self._write({"key": self._key, "at": time.time(), "candidates": list(candidates)})
            for one in self._waiting:
                self._write(vars(one))
        except OSError as problem:
            raise Error(f"{self.path}: {problem.strerror}") from None

    def next(self, arm: str, settings: str) -> Kept | None:
        """What this run reported before it was killed; None: it is still to be made."""
        if not self._waiting:
            return None
        one = self._waiting.popleft()
        if (one.arm, one.settings) == (arm, settings):
            return one
        # It takes another course: what follows belongs to the old one.
        self._waiting.clear()
        return None

    def add(self, one: Kept) -> None:
        """On the disk when it returns."""
        self._write(vars(one))
        os.fsync(self._file.fileno())

    def done(self) -> None:
        """The training has its answer."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, one: dict[str, Any]) -> None:
        self._file.write(json.dumps(one) + "\n")
        self._file.flush()


def journal_of(key: dict[str, Any], resume: bool) -> RunJournal:
    """The journal of a training with these properties."""
    text = json.dumps(key, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    return RunJournal(state_dir() / "training" / f"{name}.jsonl", text, resume)


def _read(path: Path, key: str) -> tuple[list[str], list[Kept]]:
    """Candidates and runs of a training with that key, up to a half line; none of an old one."""
    try:
        first, *lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        head = json.loads(first)
        if head["key"] != key or time.time() - float(head["at"]) > _LONGEST_SECONDS:
            return [], []
        found = []
        for line in lines:
            one = json.loads(line)
            found.append(Kept(**{**one, "file_seconds": tuple(one["file_seconds"])}))
        return list(head["candidates"]), found
    except (OSError, ValueError, KeyError, TypeError):
        return [], []
