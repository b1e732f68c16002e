"""What a training takes, and where it is done."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from iotune.models.cases import Case
from iotune.models.options import Options
from iotune.models.race import most_runs
from iotune.models.steady import (
    LONG_ENOUGH_SECONDS,
    MOST_REPEATS,
    PAUSE_SECONDS,
    SETTLING,
    meets_slow_pages,
)

from iotune.errors import Error

# What a replay takes beside the seconds of its files: launcher, libraries.
_START_OF_REPLAY_SECONDS = 0.7
# A search's replays beside those of its files: two that settle, and as many as its batches.
_REPLAYS_OF_SEARCH = 4


def estimate(cases: Sequence[Case], options: Options) -> tuple[int, float]:
    """How many replays the cases of one group take at most, and some seconds for them."""
    arms = len(options.chosen) or options.budget
    runs = 1 + most_runs(arms, options.rounds)
    if options.chosen:
        runs = 1 + (1 + arms) * options.rounds + 2 * options.rounds
    of_files = sum(case.seconds for case in cases)
    of_start = _START_OF_REPLAY_SECONDS + _pause_seconds(cases[-1], options)
    # What is written within the kernel's pages is written several times over.
    of_replay = of_start + max(of_files, min(LONG_ENOUGH_SECONDS, MOST_REPEATS * of_files))
    seconds = runs * of_replay
    if options.method != "race" and not options.chosen:
        # Each of the search's files is as large as the whole one at most.
        runs += _REPLAYS_OF_SEARCH
        seconds += _REPLAYS_OF_SEARCH * of_start + options.search_runs * of_files
    return runs, seconds


def _pause_seconds(case: Case, options: Options) -> float:
    """Between two replays."""
    pattern = case.pattern
    of_file = math.prod(pattern.get("dataset_dims", ())) * int(pattern.get("element_bytes", 1))
    try:
        slow = meets_slow_pages(directory_of(case, options), SETTLING * case.datasets * of_file)
    except Error:
        return 0.0  # it is told where the case is trained
    return PAUSE_SECONDS if slow else 0.0


def directory_of(case: Case, options: Options) -> Path:
    """Where the case is measured. Raises Error where nothing can be written there."""
    if options.directory is not None:
        return options.directory.absolute()
    # Of a link, where it points to: that is asked about at an open.
    directory = Path(case.file).resolve().parent if case.file else Path.cwd()
    if not os.access(directory, os.W_OK):
        raise Error(f"{directory} cannot be written any more; --dir names another place")
    return directory
