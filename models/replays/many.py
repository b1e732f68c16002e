"""Many settings in one replay: each has a file of its own, and all are replayed one by one.

A launch costs more than a small file, so that one of two dozen files tells of two dozen settings
what single replays would take half a minute for. The default has several files of every replay,
and which file comes when is drawn: what moves the times of a whole replay moves all alike.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from iotune.models.cases import Case
from iotune.models.measuring.race import DEFAULT
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS
from iotune.models.replays.bench import ReplayBench, effect_of
from iotune.models.replays.warm_pages import pace_of
from iotune.models.settings.candidates import Candidate

from iotune import core
from iotune.errors import Error
from iotune.output_file import write_text
from iotune.replay.mpi import Mpi
from iotune.replay.plan import Plan, plan_text
from iotune.replay.plan_build import plan_bytes
from iotune.replay.replayer import Replayed, forget_files
from iotune.traces.trace import open_trace

DEFAULTS = 3  # files of the default beside the first one, which counts for nothing
# Files of one replay together, so that they fit the storage and the kernel's pages.
MOST_TOGETHER_BYTES = 768 << 20
MOST_FILES = 32
# A replay ends within minutes: on slow storage it has fewer files.
_MOST_SECONDS = 45.0
# A replay whose files are together slower than the default's by more has a setting that nobody
# would take: one file may take eight times as long, and all others three times.
_HOPELESS, _SLOW = 8.0, 3.0
_LAUNCH_SECONDS = 10.0


@dataclass(frozen=True)
class Timed:
    """One candidate's part of a replay."""

    candidate: Candidate
    seconds: float | None  # None: it failed, or did not take effect
    default_seconds: tuple[float, ...]  # of the same replay
    effect: str  # "applied", or why there is no time
    counts: Mapping[str, float] = field(default_factory=dict)  # as Trial has them


class ManyBench(ReplayBench):
    """Replays copies of a plan of one file, each with settings of its own."""

    def __init__(
        self, case: Case, plan: Plan, mpi: Mpi, replayer: Path, scratch: Path, seed: int = 0
    ):
        super().__init__(case, plan.ranks, mpi, replayer, scratch)
        if len(plan.files) != 1:
            raise Error("settings are compared on a plan of one file")
        self._file = plan.files[0]
        self._ranks = plan.ranks
        self._prepares = plan.prepares
        self._draw = random.Random(seed)
        self._settings: dict[str, Mapping[str, str]] = {}
        self._file_seconds: list[float] = []
        self._file_counts: dict[str, list[float]] = {}
        self._default_seconds = 1.0
        self.failures = 0
        self.most_failures = 1 << 30  # after so many a replay that fails is an error
        fits = MOST_TOGETHER_BYTES // max(1, plan_bytes(plan))
        self.most_candidates = max(1, min(MOST_FILES, fits) - 1 - DEFAULTS)
        self.options = ["--prepare"] if plan.prepares else []
        moved_bytes = plan_bytes(plan) * (self.most_candidates + 1 + DEFAULTS)
        self.pace = pace_of(self.files, moved_bytes, 4 * moved_bytes)

    @property
    def own_names(self) -> frozenset[str]:
        """Base names of all files."""
        return frozenset(self._settings)

    def settle(self, limit_seconds: float = TIMEOUT_SECONDS) -> None:
        """Replays of defaults: how long a file takes, and the files that others read.

        Raises Error as run() does, and where the first one takes longer than `limit_seconds`.
        """
        self._replay([], limit_seconds)
        self.demand_same_stack()
        slow_seconds = self._default_seconds = max(self._file_seconds)
        if self._prepares:  # the files were written too
            slow_seconds *= 2
        fits = int(_MOST_SECONDS / max(slow_seconds, 1e-3)) - 1 - DEFAULTS
        self.most_candidates = max(1, min(self.most_candidates, fits))
        if self._prepares:
            self._replay([Candidate()] * self.most_candidates, TIMEOUT_SECONDS)

    def config(self, settings: Mapping[str, str]) -> str:
        """Each file's own settings."""
        of_files = {name: one for name, one in self._settings.items() if one}
        return core.config_xml({}, of_files, forced=True) if of_files else ""

    def before_run(self) -> None:
        """What is read comes from the storage; what is written is made anew."""
        if self._prepares:
            forget_files(self.files)
        else:
            for path in self.files.iterdir():
                path.unlink()

    def seconds_of(self, name: str, result: Replayed) -> float:
        """Of all files; each one's is kept."""
        self._file_seconds = result.file_seconds
        self._file_counts = result.file_counts
        return sum(result.file_seconds)

    def measure(self, tried: Sequence[Candidate]) -> list[Timed]:
        """Each once, beside the default, in as many replays as they need; in the same order."""
        found: list[Timed] = []
        for first in range(0, len(tried), self.most_candidates):
            found += self._batch(tried[first : first + self.most_candidates])
        return found

    def _batch(self, tried: Sequence[Candidate]) -> list[Timed]:
        try:
            return self._replay(tried, self.limit_of(len(tried) + DEFAULTS))
        except Error as problem:
            if len(tried) == 1:
                self.failures += 1
                return [Timed(tried[0], None, (), f"failed: {problem}")]
            if self.failures >= self.most_failures:
                raise
            # Whose fault it is shows by halves: the others are to have their times.
            half = len(tried) // 2
            return [*self._batch(tried[:half]), *self._batch(tried[half:])]

    def limit_of(self, files: int) -> float:
        """Seconds that a replay of so many files may take."""
        slowest = _HOPELESS + _SLOW * files
        limit_seconds = _LAUNCH_SECONDS + slowest * max(0.05, self._default_seconds)
        return min(TIMEOUT_SECONDS, limit_seconds)

    @property
    def of_default(self) -> float:
        """Seconds of the slowest file of a replay of defaults."""
        return self._default_seconds

    def _replay(self, tried: Sequence[Candidate], limit_seconds: float) -> list[Timed]:
        order: list[int | None] = [*range(len(tried)), *[None] * DEFAULTS]
        self._draw.shuffle(order)
        seconds = self.replay_files(
            [Candidate() if one is None else tried[one] for one in order], limit_seconds
        )
        of_default = tuple(times for one, times in zip(order, seconds) if one is None)
        place = {one: at for at, one in enumerate(order) if one is not None}
        found = []
        for number, one in enumerate(tried):
            at = place[number]
            effect = self.effect_on(at, one)
            time_of_it = seconds[at] if effect == "applied" else None
            counts = {name: values[1 + at] for name, values in self._file_counts.items()}
            found.append(Timed(one, time_of_it, of_default, effect, counts))
        return found

    def replay_files(self, order: Sequence[Candidate], limit_seconds: float) -> list[float]:
        """Seconds of a file for each of `order`, all in one replay. Raises Error as run() does."""
        # The first file pays for what a process does for the first time.
        names = [f"many{at}.h5" for at in range(1 + len(order))]
        self._settings = dict(zip(names, ({}, *(one.settings for one in order))))
        files = [replace(self._file, path=name) for name in names]
        write_text(self.plan, plan_text(Plan(self._ranks, files)))
        self.replayed(DEFAULT, self.config({}), limit_seconds)
        if len(self._file_seconds) != len(names):
            raise Error(f"{self.replayer} is of another iotune: it does not tell each file's time")
        self._last = open_trace(self.trace_of(DEFAULT)).summary
        return self._file_seconds[1:]

    def effect_on(self, at: int, candidate: Candidate) -> str:
        """As effect_of(), on a file of the last replay_files()."""
        if not candidate.settings:
            return "applied"
        return effect_of(self._last, {f"many{1 + at}.h5"}, candidate.settings)

    def demand_same_stack(self) -> None:
        """As ReplayBench has it; a survey's cases ran nowhere."""
        if self.case.platform:
            super().demand_same_stack()
