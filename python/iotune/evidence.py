"""What a run's settings brought, out of the database's observations of the same workload."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iotune.core import Database
from iotune.errors import Error
from iotune.summary import FilePattern, RunSummary


@dataclass(frozen=True)
class Comparison:
    """Medians over runs; None where there is nothing to compare with.

    Without observed runs of these settings (`tuned_runs` 0) the ratio is the run's own.
    """

    default_seconds: float | None = None
    default_runs: int = 0
    tuned_seconds: float | None = None
    tuned_runs: int = 0
    # How many times faster than default, by rates; above 1 is better.
    ratio: float | None = None


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
    """Compare runs of the file's workload with its settings with those of default settings.

    Runs on another MPI, HDF5 or file system, or that moved other amounts of data, do not
    count. The ratio is one of rates, because amounts may differ by a tenth.
    """
    if database is None:
        return Comparison()
    workload = {
        "program": os.path.basename(run.program or run.program_name),
        "file": file.masked_name,
        "ranks": run.ranks,
        "nodes": run.nodes,
    }
    try:
        groups = [
            one
            for one in database.observations(workload, file.bytes)
            if (one["platform"]["mpi"], one["platform"]["hdf5"]) == (run.mpi, run.hdf5)
        ]
    except Error:
        return Comparison()
    settings = effective_settings(file)
    wanted = ";".join(f"{name}={settings[name]}" for name in sorted(settings))
    tuned = _newest([one for one in groups if wanted and one["settings_text"] == wanted])
    platform = tuned["platform"] if tuned else None
    default = _newest(
        [one for one in groups if not one["settings_text"] and platform in (None, one["platform"])]
    )
    own_rate = file.bytes / file.io_seconds if settings and file.io_seconds > 0 else 0.0
    rate = _rate(tuned) if tuned else own_rate
    return Comparison(
        default_seconds=float(default["median_seconds"]) if default else None,
        default_runs=int(default["runs"]) if default else 0,
        tuned_seconds=float(tuned["median_seconds"]) if tuned else None,
        tuned_runs=int(tuned["runs"]) if tuned else 0,
        ratio=rate / _rate(default) if rate and default and _rate(default) else None,
    )


def _newest(groups: list[dict[str, Any]]) -> dict[str, Any] | None:
    return max(groups, key=lambda one: float(one["last_at"]), default=None)


def _rate(group: Mapping[str, Any]) -> float:
    return float(group["median_bytes_per_second"] or 0.0)
