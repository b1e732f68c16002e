"""A site trains once: patterns are drawn and measured until the budget is used, and a model fitted.

What was measured is stored after every replay, so that a survey that is stopped loses nothing and
the next one goes on with other patterns.
"""

from __future__ import annotations

import math
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from iotune.models.survey.draw import Drawn, Limits, draw_pattern, draw_rewarding
from iotune.models.survey.measure import Asked, measure_pattern
from iotune.models.survey.stored import add_trials
from iotune.models.survey.trials import Subject, Surface, Trial

from iotune import core
from iotune.errors import Error
from iotune.replay.mpi import Mpi

# Of each drawn pattern: fewer settings of more patterns teach more than all settings of few.
_POINTS, _REPEATS = 24, 2
# Small files first, so that a short survey has seen every kind; after so many patterns they may be
# twice as large. At once where they take less than noise does.
_FIRST_BYTES, _DOUBLED_AFTER = 256 << 10, 8
_LONG_ENOUGH_SECONDS = 0.005
_MOST_FAILURES = 5  # of patterns one after the other


@dataclass
class Left:
    """Of a budget: a survey is over when any of it is used."""

    until: float = math.inf  # monotonic
    runs: float = math.inf  # files replayed
    bytes: float = math.inf  # written or read by replays

    def is_used(self) -> bool:
        """Whether nothing more may be started."""
        return time.monotonic() >= self.until or self.runs <= 0 or self.bytes <= 0


@dataclass
class Survey:
    """What a survey did."""

    session: str
    surfaces: dict[str, Surface] = field(default_factory=dict)
    runs: int = 0
    bytes: int = 0
    failures: list[str] = field(default_factory=list)
    platform: dict[str, str] = field(default_factory=dict)


class _Kept:
    """Trials that go into the database; what Journal has of one survey."""

    def __init__(self, database: core.Database, survey: Survey, left: Left, file_bytes: int):
        self._database, self._survey, self._left = database, survey, left
        self._file_bytes = file_bytes

    @property
    def surfaces(self) -> dict[str, Surface]:
        return self._survey.surfaces

    def add_subject(self, subject: Subject) -> Surface:
        self._survey.platform = dict(subject.platform)
        return self._survey.surfaces.setdefault(subject.name, Surface(subject))

    def add_trials(self, surface: Surface, trials: list[Trial]) -> None:
        surface.trials += trials
        session = f"{self._survey.session}.{surface.subject.name}"
        add_trials(self._database, surface.subject, trials, session)
        self._survey.runs += len(trials)
        self._survey.bytes += self._file_bytes * len(trials)
        self._left.runs -= len(trials)
        self._left.bytes -= self._file_bytes * len(trials)


def survey(
    database: core.Database, directory: Path, mpi: Mpi, limits: Limits, left: Left,
    tell: Callable[[str], None], seed: int | None = None,
) -> Survey:  # fmt: skip
    """Draw and measure until the budget is used. Raises Error where nothing can be measured."""
    done = Survey(f"survey-{secrets.token_hex(6)}")
    draw = random.Random(seed)
    failed = 0
    size = _Size(limits.most_file_bytes)
    for number in range(1, 1_000_000):
        if left.is_used():
            break
        drawn = _drawn(draw, limits, number, size.most_bytes)
        kept = _Kept(database, done, left, _bytes_of(drawn))
        asked = Asked(_POINTS, _REPEATS, seed=draw.randrange(1 << 30), until=left.until, drops=True)
        tell(f"{number}: {drawn.pattern['descriptor']}, {drawn.pattern['op']}")
        try:
            surface = measure_pattern(
                str(number), drawn.pattern, drawn.datasets, directory, mpi, kept, asked,
                lambda text: None, left.is_used,
            )  # fmt: skip
            failed = 0
            size.measured([x for one in surface.trials for x in one.default_seconds])
        except Error as problem:
            failed += 1
            done.failures.append(f"{drawn.pattern['descriptor']}: {problem}")
            if failed == _MOST_FAILURES or not done.surfaces and failed > 1:
                raise Error(f"{failed} patterns one after the other failed: {problem}") from None
    return done


class _Size:
    """How large files may be now; at last `limit_bytes`."""

    def __init__(self, limit_bytes: int):
        self._limit_bytes, self._measured = limit_bytes, 0
        self.most_bytes = min(_FIRST_BYTES, limit_bytes)

    def measured(self, default_seconds: Sequence[float]) -> None:
        """A pattern was, whose files took so long."""
        self._measured += 1
        is_quick = bool(default_seconds) and median(default_seconds) < _LONG_ENOUGH_SECONDS
        if is_quick or self._measured == _DOUBLED_AFTER:
            self.most_bytes, self._measured = min(2 * self.most_bytes, self._limit_bytes), 0


def _drawn(draw: random.Random, limits: Limits, number: int, most_bytes: int) -> Drawn:
    """Two of three patterns are of a kind that settings are worth most for."""
    now = replace(
        limits, most_file_bytes=most_bytes,
        least_file_bytes=min(limits.least_file_bytes, most_bytes // 16),
    )  # fmt: skip
    if number % 3 == 0:
        return draw_pattern(draw, now)
    return draw_rewarding(draw, now, number - 1 - number // 3)


def _bytes_of(drawn: Drawn) -> int:
    dims = [int(one) for one in drawn.pattern["dataset_dims"]]
    return math.prod(dims) * int(drawn.pattern["element_bytes"]) * drawn.datasets
