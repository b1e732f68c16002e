"""What a training takes, and where it is done."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iotune.models.cases import Case
from iotune.models.measuring.race import most_rounds, most_runs
from iotune.models.options import Options
from iotune.models.replays.many import MOST_FILES
from iotune.models.replays.page_cache_timing import (
    FIRST_RUN_REPEATS,
    LONG_ENOUGH_SECONDS,
    MOST_REPEATS,
    PAUSE_SECONDS,
    is_page_cached,
    repeats_for,
    slowed_by_page_reporting,
)
from iotune.models.replays.shared_rounds import is_short

from iotune.errors import Error

# What a replay takes beside the seconds of its files: launcher, libraries.
_START_OF_REPLAY_SECONDS = 0.7
# Replays that look at the default's time, and write what others read.
_SETTLING = 2
# A search's replays beside those of its files: two that settle, and as many as its batches.
_REPLAYS_OF_SEARCH = 4


@dataclass(frozen=True)
class Estimate:
    """What a group of cases takes: replays at most, some seconds and bytes."""

    runs: int
    seconds: float
    moved_bytes: int


@dataclass
class Allowance:
    """What is left of a budget; None: there is no limit."""

    runs: int | None
    moved_bytes: int | None

    def refusal(self, asked: Estimate) -> str:
        """Why a group may not begin; "" where it may."""
        if self.runs is not None and asked.runs > self.runs:
            return f"{asked.runs} replays, and the budget has {self.runs} left"
        if self.moved_bytes is not None and asked.moved_bytes > self.moved_bytes:
            needed, left = asked.moved_bytes >> 20, max(0, self.moved_bytes) >> 20
            return f"some {needed} MiB in its replays, and the budget has {left} MiB left"
        return ""

    def spend(self, runs: int, moved_bytes: int) -> None:
        """What a group really took."""
        self.runs = None if self.runs is None else self.runs - runs
        self.moved_bytes = None if self.moved_bytes is None else self.moved_bytes - moved_bytes


def estimate(cases: Sequence[Case], options: Options, candidates: int = 0) -> Estimate:
    """What the cases of one group take, with so many candidates; 0: as many as there may be."""
    arms = len(options.chosen) or min(candidates or options.budget, options.budget)
    runs = 1 + most_runs(arms, options.rounds)
    if options.chosen:
        runs = 1 + (1 + arms) * options.rounds + 2 * options.rounds
    of_files = sum(case.seconds for case in cases)
    of_start = _START_OF_REPLAY_SECONDS + _pause_seconds(cases[-1], options)
    file_bytes = sum(map(_file_bytes, cases))
    if len(cases) == 1 and cases[0].layer == "hdf5" and is_short(cases[0], file_bytes):
        # Each round is one replay of many files, and what confirms is at least one more.
        files = runs + MOST_FILES
        rounds = options.rounds if options.chosen else most_rounds(arms, options.rounds)
        runs = _SETTLING + rounds + options.rounds
        seconds = files * of_files + runs * of_start
        moved_bytes = files * file_bytes
    else:
        # What is written within the kernel's pages is written several times over.
        of_replay = of_start + max(of_files, min(LONG_ENOUGH_SECONDS, MOST_REPEATS * of_files))
        seconds = runs * of_replay
        moved_bytes = runs * _repeats(cases[-1], options) * file_bytes
    if options.method != "race" and not options.chosen:
        # Each of the search's files is as large as the whole one at most.
        runs += _REPLAYS_OF_SEARCH
        seconds += _REPLAYS_OF_SEARCH * of_start + options.search_runs * of_files
        moved_bytes += options.search_runs * file_bytes
    return Estimate(runs, seconds, moved_bytes)


def _file_bytes(case: Case) -> int:
    """Of a file, as far as its pattern tells."""
    pattern = case.pattern
    elements = math.prod(pattern.get("dataset_dims", ())) if pattern.get("dataset_dims") else 0
    return max(1, case.datasets) * elements * int(pattern.get("element_bytes", 1))


def _repeats(case: Case, options: Options) -> int:
    """How often a replay writes each file."""
    try:
        cached = case.write and is_page_cached(directory_of(case, options))
    except Error:
        return 1  # it is reported where the case is trained
    return repeats_for(case.seconds) if cached and case.layer == "hdf5" else 1


def _pause_seconds(case: Case, options: Options) -> float:
    """Between two replays."""
    try:
        slow = slowed_by_page_reporting(
            directory_of(case, options), FIRST_RUN_REPEATS * _file_bytes(case)
        )
    except Error:
        return 0.0  # it is reported where the case is trained
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
