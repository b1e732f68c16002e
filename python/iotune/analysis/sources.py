"""What there is to be analysed: traces, and other tools' logs, which become traces first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iotune import core
from iotune.errors import Error
from iotune.importing import import_log
from iotune.traces.trace import is_trace

_TRACES = ("*.iotrace", "*.iobuf")
_LOGS = ("*.darshan", "*.darshan.gz", "*.pfw", "*.pfw.gz")


@dataclass(frozen=True)
class Source:
    """A trace, and what the user called it."""

    name: str
    trace: str
    format: str | None = None  # of the log that it was imported from
    notes: tuple[str, ...] | list[str] = ()


@dataclass(frozen=True)
class Sources:
    """What can be analysed, and what cannot be read."""

    good: list[Source]
    left_out: list[str]  # one line each
    failed: bool = False  # whether one of these was named by the user himself


def sources_of(paths: Iterable[Path], folder: Path) -> Sources:
    """One for each trace or log; imported ones lie in `folder`.

    Of several what cannot be read is left out. Raises Error where nothing is left.
    """
    good: list[Source] = []
    left_out: list[str] = []
    failed = False
    for path in paths:
        for one in _expanded(path):
            try:
                good.append(_source(one, folder / f"imported-{len(good)}.iotrace"))
            except Error as problem:
                left_out.append(str(problem))
                failed = failed or one == path
    if not good:
        more = f" (and {len(left_out) - 1} more that cannot be read)" if left_out[1:] else ""
        raise Error((left_out[0] if left_out else "nothing to analyse") + more)
    return Sources(good, left_out, failed)


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
        core.processes(path)  # raises Error for what this version cannot read
        return Source(str(path), str(path))
    done = import_log(path, imported)
    return Source(str(path), str(imported), done.format, done.notes)
