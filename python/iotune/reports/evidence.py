"""The effect of a run's settings: what training proved, and what runs of the same workload show."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from statistics import median
from typing import Any

from iotune.core import Database
from iotune.database.answers import Answers, is_of_platform, program_of
from iotune.errors import Error
from iotune.models.measuring.paired import Gain, compare_unpaired
from iotune.reports.offered import Offered, offered_to
from iotune.traces.summary import FilePattern, RunSummary

_SITE = "site"  # the source of a copy of a lower database's answer


@dataclass(frozen=True)
class Comparison:
    """What is known of the settings that a file got.

    Rates are medians over runs, in bytes a second; None where there are no such runs. Runs of both
    arms were made at other times, beside other jobs: only an interval over several says anything,
    so that there is none where runs are few.
    """

    trained: Gain | None = None  # by paired rounds, which the answer rests on
    default_rate: float | None = None
    default_runs: int = 0
    tuned_rate: float | None = None
    tuned_runs: int = 0
    production: Gain | None = None  # rates with the settings over those of the default
    of_site: bool = False  # the answer was copied from a lower database
    offered: Offered | None = None  # what training measured and no run takes by itself

    @property
    def is_confirmed(self) -> bool:
        """Whether the user's own runs show a gain, its whole interval above 1."""
        return self.production is not None and self.production.low > 1


def effective_settings(file: FilePattern) -> dict[str, str]:
    """The settings that took effect, or may have."""
    return {one.parameter: one.wanted for one in file.settings if one.has_effect}


def compare_with_default(answers: Answers | None, run: RunSummary, file: FilePattern) -> Comparison:
    """Compare runs of the file's workload with its settings with those of default settings.

    Runs on another MPI, HDF5 or file system, or that moved other amounts of data, do not
    count. Rates are compared, because amounts may differ by a tenth.
    """
    if answers is None:
        return Comparison()
    settings = effective_settings(file)
    wanted = ";".join(f"{name}={settings[name]}" for name in sorted(settings))
    try:
        answer = answers.of_row(file.decision_row)
        groups = _groups(answers.database, run, file)
        offered = offered_to(answers, run, file)
    except Error:
        return Comparison()
    tuned = _rates([one for one in groups if wanted and one["settings_text"] == wanted])
    default = _rates([one for one in groups if not one["settings_text"]])
    return Comparison(
        trained=_trained(answer, wanted),
        default_rate=median(default) if default else None,
        default_runs=len(default),
        tuned_rate=median(tuned) if tuned else None,
        tuned_runs=len(tuned),
        # Of rates more is better, of compare_unpaired()'s times less.
        production=compare_unpaired(tuned, default) if wanted else None,
        of_site=answer is not None and answer["source"] == _SITE,
        offered=offered,
    )


def rates_of_workload(
    database: Database, run: RunSummary, file: FilePattern, left_out: Collection[str]
) -> list[list[float]]:
    """Bytes a second of runs of the file's workload on its platform, for each settings they had.

    Runs in `left_out` (their ids) do not count.
    """
    try:
        return [_rates([one]) for one in _groups(database, run, file, left_out)]
    except Error:
        return []


def _groups(
    database: Database, run: RunSummary, file: FilePattern, left_out: Collection[str] = ()
) -> list[dict[str, Any]]:
    return [
        one
        for one in database.observations(_workload(run, file), file.bytes, left_out)
        if is_of_platform(one["platform"], run, file)
    ]


def _workload(run: RunSummary, file: FilePattern) -> dict[str, Any]:
    return {
        "program": program_of(run),
        "file": os.path.basename(file.path),
        "ranks": run.ranks,
        "nodes": run.nodes,
    }


def _trained(answer: dict[str, Any] | None, wanted: str) -> Gain | None:
    """What the answer rests on, where its settings are those that took effect."""
    if answer is None or not wanted or answer.get("gain") is None:
        return None
    settings = {**answer["settings"]}
    if wanted != ";".join(f"{name}={settings[name]}" for name in sorted(settings)):
        return None  # only some of them took effect
    low, high = answer.get("low"), answer.get("high")
    if low is None or high is None:
        return None
    return Gain(answer["gain"], low, high, int(answer.get("rounds", 0)))


def _rates(groups: list[dict[str, Any]]) -> list[float]:
    return [float(rate) for one in groups for rate in one["rates"] if rate > 0]
