"""A trace as a Python object."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from iotune import core
from iotune.errors import Error
from iotune.summary import RunSummary, run_summary


class Trace:
    """One run's trace. Reads on demand; the file may not change meanwhile."""

    def __init__(self, path: Path):
        self.path = path

    @functools.cached_property
    def raw_summary(self) -> dict[str, Any]:
        """The analyzer's own result, for `--json`."""
        return core.summarize(self.path)

    @property
    def summary(self) -> RunSummary:
        """What the run did, in patterns."""
        return run_summary(self.raw_summary)

    @property
    def processes(self) -> list[dict[str, Any]]:
        """What each process said of itself: pid, host, rank, argv and so on."""
        return core.processes(self.path)

    def calls(
        self,
        rank: int | None = None,
        layer: str | None = None,
        file: str | None = None,
        limit: int | None = None,
    ) -> list[core.Call]:
        """The calls themselves, in time order; see core.calls for the filters."""
        return core.calls(self.path, rank=rank, layer=layer, file=file, limit=limit)

    def __repr__(self) -> str:
        return f"Trace({str(self.path)!r})"


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Open a trace or a process buffer. Raises Error where there is none to be read."""
    found = Path(path)
    try:
        with found.open("rb") as file:
            start = file.read(12)
    except OSError as problem:
        raise Error(f"{found}: {problem.strerror}") from None
    if start != b"IOTUNE-TRACE" and start[:6] != b"IOTBUF":
        raise Error(f"{found} is not a trace of iotune")
    return Trace(found)
