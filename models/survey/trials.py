"""What was measured: patterns, and seconds of a file of each under settings.

A journal is a text file of one JSON object a line, so that a process that is killed loses the
measurement that was under way and no other, and so that two journals are joined by `cat`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from iotune.errors import Error

_FORMAT = "iotune-trials"
_VERSION = 1


@dataclass(frozen=True)
class Subject:
    """A pattern on a platform: what trials are of."""

    name: str
    pattern: Mapping[str, Any]  # as the database has it
    question: Mapping[str, int]  # what it amounts to and runs on, as core.features() takes it
    platform: Mapping[str, str]  # filesystem, mpi, hdf5, host_class

    @property
    def datasets(self) -> int:
        """Of a file."""
        return int(self.question.get("datasets", 1))


@dataclass(frozen=True)
class Trial:
    """One file under settings. Its own seconds say little: the default's of the same replay do."""

    settings: str  # canonical text; "" is the default
    seconds: float | None  # None: it failed or did not take effect
    default_seconds: tuple[float, ...]
    batch: int  # trials of one number come from one replay
    effect: str = "applied"
    # What all ranks used for it (iotune.replay.replayer.COUNTS); empty where nobody counted.
    counts: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times faster than the default it was."""
        if self.seconds is None or not self.default_seconds:
            return None
        return median(self.default_seconds) / max(self.seconds, 1e-9)


@dataclass
class Surface:
    """All trials of one subject."""

    subject: Subject
    trials: list[Trial] = field(default_factory=list)

    def ratios(self) -> dict[str, list[float]]:
        """By settings, those of failures left out."""
        found: dict[str, list[float]] = {}
        for one in self.trials:
            if one.ratio is not None:
                found.setdefault(one.settings, []).append(one.ratio)
        return found

    def counts(self) -> dict[str, dict[str, float]]:
        """By settings: the median of each count over the trials that have it."""
        found: dict[str, dict[str, list[float]]] = {}
        for one in self.trials:
            for name, value in one.counts.items():
                found.setdefault(one.settings, {}).setdefault(name, []).append(value)
        return {
            text: {name: median(values) for name, values in of.items()}
            for text, of in found.items()
        }

    def failed(self) -> dict[str, str]:
        """Settings that never had a time, and why."""
        timed = self.ratios()
        return {one.settings: one.effect for one in self.trials if one.settings not in timed}

    def next_batch(self) -> int:
        """A number that no replay has yet."""
        return 1 + max((one.batch for one in self.trials), default=-1)


class Journal:
    """Appends to a file of trials, and goes on with what is there. One process at a time."""

    def __init__(self, path: Path):
        self.path = path
        known = read_trials(path) if _used(path) else []
        self.surfaces: dict[str, Surface] = {one.subject.name: one for one in known}
        _end_last_line(path)

    def add_subject(self, subject: Subject) -> Surface:
        """The subject's surface. Raises Error where another subject has its name."""
        known = self.surfaces.get(subject.name)
        if known is not None:
            if _as_dict(known.subject) != _as_dict(subject):
                raise Error(
                    f"{self.path}: '{subject.name}' was measured with another pattern or on "
                    "another platform; name a new file"
                )
            return known
        surface = self.surfaces[subject.name] = Surface(subject)
        self._append([{"subject": subject.name, **_as_dict(subject)}])
        return surface

    def add_trials(self, surface: Surface, trials: list[Trial]) -> None:
        """On the disk when it returns."""
        surface.trials += trials
        self._append({"of": surface.subject.name, **_as_line(one)} for one in trials)

    def _append(self, objects: Iterable[Mapping[str, Any]]) -> None:
        lines = [json.dumps(one, separators=(",", ":")) for one in objects]
        try:
            with self.path.open("a", encoding="utf-8") as file:
                if file.tell() == 0:
                    file.write(json.dumps({"format": _FORMAT, "version": _VERSION}) + "\n")
                file.write("".join(line + "\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise Error(f"{self.path}: {problem.strerror}") from None


def _as_line(trial: Trial) -> dict[str, Any]:
    line = asdict(trial)
    if not trial.counts:
        del line["counts"]
    return line


def _used(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _end_last_line(path: Path) -> None:
    """Cut off the half line of a process that was killed."""
    if not _used(path):
        return
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _as_dict(subject: Subject) -> dict[str, Any]:
    return {
        "pattern": dict(subject.pattern),
        "question": dict(subject.question),
        "platform": dict(subject.platform),
    }


def read_trials(path: Path) -> list[Surface]:
    """The surfaces of a journal. A last line without its end is left out.

    Raises Error that names the line of what is no journal.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    return parse_trials(text, str(path))


def parse_trials(text: str, name: str) -> list[Surface]:
    """As read_trials(), of a text; `name` is for messages."""
    found: dict[str, Surface] = {}
    lines = text.split("\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            _take(json.loads(line), found, number == 1)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            why = str(problem) if isinstance(problem, ValueError) else f"lacks or garbles {problem}"
            raise Error(f"{name}, line {number}: no trials of iotune: {why}"[:300]) from None
    return list(found.values())


def _take(one: Any, found: dict[str, Surface], is_first: bool) -> None:
    if "format" in one:
        if one["format"] != _FORMAT or int(one["version"]) > _VERSION:
            raise ValueError(f"format {one['format']} {one['version']} is not known here")
    elif is_first:
        raise ValueError("the first line does not name the format")
    elif "subject" in one:
        subject = Subject(one["subject"], one["pattern"], one["question"], one["platform"])
        found.setdefault(subject.name, Surface(subject))
    else:
        seconds = one["seconds"]
        trial = Trial(
            str(one["settings"]),
            None if seconds is None else float(seconds),
            tuple(float(x) for x in one["default_seconds"]),
            int(one["batch"]),
            str(one["effect"]),
            {str(name): float(value) for name, value in one.get("counts", {}).items()},
        )
        found[one["of"]].trials.append(trial)
