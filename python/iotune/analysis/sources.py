"""What there is to be analysed: traces, and other tools' logs, which become traces first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iotune.errors import Error
from iotune.importing import import_log
from iotune.trace import open_trace

_TRACES = ("*.iotrace", "*.iobuf")
_LOGS = ("*.darshan",)


@dataclass(frozen=True)
class Source:
    """A trace, and what the user called it."""

    name: str
    trace: str
    format: str | None = None  # of the log that it was imported from
    notes: tuple[str, ...] | list[str] = ()


def sources_of(paths: Iterable[Path], folder: Path) -> list[Source]:
    """One for each trace or log; imported ones lie in `folder`. Raises Error."""
    found: list[Source] = []
    for path in paths:
        for one in _expanded(path):
            found.append(_source(one, folder / f"imported-{len(found)}.iotrace"))
    return found


def _expanded(path: Path) -> list[Path]:
    """A directory's traces, else its logs, else the directory: Recorder's logs are one."""
    if not path.is_dir():
        return [path]
    for patterns in (_TRACES, _LOGS):
        inside = sorted(one for pattern in patterns for one in path.glob(pattern))
        if inside:
            return inside
    return [path]


def _source(path: Path, imported: Path) -> Source:
    if path.is_file() and is_trace(path):
        open_trace(path)
        return Source(str(path), str(path))
    done = import_log(path, imported)
    return Source(str(path), str(imported), done.format, done.notes)


def is_trace(path: Path) -> bool:
    """Whether the file begins as a trace or a process buffer does."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    return start == b"IOTUNE-TRACE" or start[:6] == b"IOTBUF"
