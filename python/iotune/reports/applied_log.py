"""The site's log of what was applied: a line a run, written by tuner/decision/applied_log.cpp.

The files are their users' own, so what stands in them is taken for nobody's word: whose a line is
says the owner of the file, and a line that is none is reported and left out.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pwd
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iotune import core
from iotune.errors import Error

OUTCOMES = ("applied", "without effect", "refused", "unverifiable")
_FOLDER, _ENDING = "applied", ".jsonl"
_MOST_LINE_BYTES = 4000
_MOST_FILE_BYTES = 16 << 20  # twice what a run writes to


@dataclass(frozen=True)
class Setting:
    """What became of one value of one parameter."""

    name: str
    value: str  # wanted
    outcome: str  # of OUTCOMES
    count: int  # files, or datasets
    why: str


@dataclass(frozen=True)
class FileKind:
    """Files whose base names differ in numbers alone, which one answer decided."""

    name: str  # each number as #
    files: int
    source: str  # where the answer comes from
    row: int | None  # of the user's database
    settings: list[Setting]


@dataclass(frozen=True)
class AppliedRun:
    """One line."""

    at: int  # seconds since 1970, at the run's end
    run: str
    user: int
    user_name: str  # empty: not known here
    node: str
    program: str  # base name
    script: str  # base name; empty: none
    ranks: int
    iotune: str  # version
    kinds: list[FileKind]
    left_out: int  # decisions and outcomes without a place in the line

    def settings_with(self, outcome: str) -> list[str]:
        """As name=value, each once."""
        found = [
            f"{one.name}={one.value}"
            for kind in self.kinds
            for one in kind.settings
            if one.outcome == outcome
        ]
        return list(dict.fromkeys(found))

    def as_json(self) -> dict[str, Any]:
        """Plain values (db-applied.schema.json)."""
        return asdict(self)


@dataclass(frozen=True)
class AppliedLog:
    """What was found below a folder: runs, the newest first, and what could not be read."""

    runs: list[AppliedRun]
    faults: list[str]


def folder_of_site() -> Path:
    """The folder of all users' logs that /etc/iotune.conf names. Error where it names none."""
    pattern = core.site_limits()["applied_log"]
    if not pattern:
        raise Error(
            "the site keeps no log of what was applied: /etc/iotune.conf has no applied_log "
            "(docs/howto/sites.md); or name the folder"
        )
    # Up to the slash before the first name with %u, as core/process/site_folder.cpp has it.
    return Path(pattern[: pattern.index("%u")].rpartition("/")[0] or "/")


def read_applied_log(folder: Path, since: datetime.date | None = None) -> AppliedLog:
    """All lines of the logs in a folder and those below it. Raises Error where there is no folder.

    since: runs of earlier days, in UTC, are left out.
    """
    if not folder.is_dir():
        raise Error(f"{folder}: no such directory")
    runs: list[AppliedRun] = []
    faults: Counter[str] = Counter()
    for path in _log_files(folder, since, faults):
        with contextlib.suppress(FileNotFoundError):
            _read_file(path, runs, faults)
    if since is not None:
        begin = datetime.datetime.combine(since, datetime.time(), datetime.timezone.utc)
        runs = [one for one in runs if one.at >= begin.timestamp()]
    runs.sort(key=lambda one: (-one.at, one.user, one.run))
    reported = [why if count == 1 else f"{why} ({count} times)" for why, count in faults.items()]
    return AppliedLog(runs, reported)


def _log_files(folder: Path, since: datetime.date | None, faults: Counter[str]) -> Iterator[Path]:
    def cannot(problem: OSError) -> None:
        faults[f"{problem.filename}: {problem.strerror}"] += 1

    first_month = f"{since:%Y-%m}" if since is not None else ""
    for place, folders, names in os.walk(folder, onerror=cannot):
        folders.sort()
        if os.path.basename(place) != _FOLDER:
            continue
        for name in sorted(names):
            if name.endswith(_ENDING) and name[: len(first_month)] >= first_month:
                yield Path(place) / name


def _read_file(path: Path, runs: list[AppliedRun], faults: Counter[str]) -> None:
    # A user may have put anything in its place: a link, a FIFO that would be waited for.
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        faults[f"{path}: {problem.strerror}"] += 1
        return
    with open(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_FILE_BYTES:
            faults[f"{path}: no log of iotune's"] += 1
            return
        for line in file:
            try:
                runs.append(_run(line, found.st_uid))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                faults[f"{path}: a line that is none"] += 1


def _run(line: bytes, owner: int) -> AppliedRun:
    """A line's run. Raises what json and plain values raise for another line."""
    if len(line) > _MOST_LINE_BYTES or not line.endswith(b"\n"):
        raise ValueError
    value = json.loads(line)
    return AppliedRun(
        at=_number(value["at"]),
        run=_text(value["run"]),
        user=owner,
        user_name=_name_of_user(owner),
        node=_text(value["node"]),
        program=_text(value["program"]),
        script=_text(value["script"]),
        ranks=_number(value["ranks"]),
        iotune=_text(value["iotune"]),
        kinds=[_kind(one) for one in value["kinds"]],
        left_out=_number(value["left_out"]),
    )


def _kind(value: Mapping[str, Any]) -> FileKind:
    row = value["row"]
    return FileKind(
        _text(value["name"]),
        _number(value["files"]),
        _text(value["source"]),
        None if row is None else _number(row),
        [_setting(one) for one in value["settings"]],
    )


def _setting(value: Mapping[str, Any]) -> Setting:
    if value["outcome"] not in OUTCOMES:
        raise ValueError
    return Setting(
        _text(value["name"]),
        _text(value["value"]),
        value["outcome"],
        _number(value["count"]),
        _text(value.get("why", "")),
    )


def _number(value: object) -> int:
    # What is larger is no time and no count.
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError
    return value


def _text(value: object) -> str:
    """A text whose characters beyond ASCII stand for bytes."""
    if not isinstance(value, str):
        raise TypeError
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _name_of_user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return ""
