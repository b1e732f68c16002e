"""What a run's settings brought, out of the database's observations of the same workload."""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iotune.core import Database
from iotune.errors import Error
from iotune.summary import FilePattern, RunSummary


@dataclass(frozen=True)
class Comparison:
    """Medians over runs; None where there is nothing to compare with."""

    default_seconds: float | None = None
    default_runs: int = 0
    tuned_seconds: float | None = None
    tuned_runs: int = 0

    @property
    def ratio(self) -> float | None:
        """How many times faster than default; above 1 is better."""
        if self.default_seconds and self.tuned_seconds:
            return self.default_seconds / self.tuned_seconds
        return None


def effective_settings(file: FilePattern) -> dict[str, str]:
    """The settings that took effect, or may have."""
    return {
        one.parameter: one.wanted
        for one in file.settings
        if one.verdict in ("applied", "unverifiable")
    }


def compare_with_default(
    database: Database | None, run: RunSummary, file: FilePattern
) -> Comparison:
    """Compare the file's seconds, and its like's, with the default runs of the same workload.

    Only observations of the same number of bytes count: another size is another time.
    """
    if database is None:
        return Comparison()
    workload = {
        "program": os.path.basename(run.program),
        "file": file.masked_name,
        "ranks": run.ranks,
        "nodes": run.nodes,
    }
    try:
        observations = database.observations(workload)
    except Error:
        return Comparison()
    settings = effective_settings(file)
    canonical = ";".join(f"{name}={settings[name]}" for name in sorted(settings))
    same_size = [one for one in observations if _bytes(one) in (0, file.bytes)]
    default = [float(one["seconds"]) for one in same_size if not _settings(one)]
    tuned = [
        float(one["seconds"]) for one in same_size if canonical and _settings(one) == canonical
    ]
    if settings and not tuned:
        tuned = [file.io_seconds]
    return Comparison(
        statistics.median(default) if default else None,
        len(default),
        statistics.median(tuned) if tuned else None,
        len(tuned),
    )


def _settings(observation: Mapping[str, Any]) -> str:
    value = observation.get("settings", "")
    if isinstance(value, Mapping):
        return ";".join(f"{name}={value[name]}" for name in sorted(value))
    return str(value or "")


def _bytes(observation: Mapping[str, Any]) -> int:
    written = int(observation.get("bytes_written", 0))
    return written + int(observation.get("bytes_read", 0))
