"""Other tools' logs as traces of our own (docs/import.md)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from iotune.core import native_part
from iotune.errors import Error
from iotune.importing import darshan_log, fuse_lines, guess, recorder_text, table
from iotune.importing.sink import AccessSink
from iotune.output_file import demand_replaceable

_READERS: dict[str, Callable[[Path, AccessSink], None]] = {
    "darshan": darshan_log.read,
    "fuse": fuse_lines.read,
    "recorder": recorder_text.read,
    "csv": table.read,
}
FORMATS = tuple(_READERS)


@dataclass(frozen=True)
class Imported:
    """What an import made."""

    trace: Path
    format: str
    processes: int
    calls: int  # the opens and closes that logs leave out included
    notes: list[str] = field(default_factory=list)


def import_log(
    log: str | os.PathLike[str],
    output: str | os.PathLike[str],
    format: str | None = None,
    times: str = "exact",
    force: bool = False,
) -> Imported:
    """Write a trace of what `log` holds to `output`.

    `format` is one of FORMATS, else it is guessed from the content. `times`: exact; call, a
    little rounded and smaller; or pattern, of patterns only. Raises Error, with file and line or
    record, for a log that is damaged or contradicts itself, and leaves no file then.
    """
    source, target = Path(log), Path(output)
    if source.exists() and not source.is_file() and not source.is_dir():
        # A pipe would be waited for, or read from its middle on.
        raise Error(f"{source}: no regular file: a log is read twice, so write it into one first")
    chosen = format or guess.format_of(source)
    if chosen not in _READERS:
        raise Error(f"{chosen!r} is no format of logs: {', '.join(FORMATS)}")
    demand_replaceable(target, force)
    writer = native_part().ImportWriter(os.fsencode(target), times, force)
    sink = AccessSink(writer, source, secrets.token_hex(8))
    try:
        _READERS[chosen](source, sink)
    except OSError as problem:
        raise Error(f"{problem.filename or source}: {problem.strerror or problem}") from None
    if sink.accesses == 0:
        raise Error("; ".join([f"{source}: no reads and no writes in it", *sink.said_left_out()]))
    sink.end()
    done = writer.finish()
    return Imported(target, chosen, done["processes"], done["calls"], sink.notes)
