"""How much earlier runs of a workload differ, as the database has them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from iotune.core import Database
from iotune.errors import Error
from iotune.reports.evidence import rates_of_workload
from iotune.traces.summary import FilePattern, RunSummary

FEWEST_RUNS = 3


class Earlier:
    """The user's database, or another; without one nothing is known."""

    def __init__(self, database: Path | None):
        from iotune.cli.db import opened

        self._database: Database | None = None
        try:
            self._database = opened(database, reads=True, own=True)
        except Error:
            pass  # then nothing is known of earlier runs

    def usual_spread(
        self, run: RunSummary, file: FilePattern, compared: Collection[str]
    ) -> float | None:
        """The fastest over the slowest of other runs under the same settings; None: too few.

        `compared`: the ids of the runs that are compared. Their own difference excuses nothing.
        """
        if self._database is None:
            return None
        spreads = [
            max(rates) / min(rates)
            for rates in rates_of_workload(self._database, run, file, compared)
            if len(rates) >= FEWEST_RUNS and min(rates) > 0
        ]
        return max(spreads, default=None)
