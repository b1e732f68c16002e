"""Rounds of a training in one replay each: every arm has a file of its own there.

The start of its ranks takes a small file's replay many times longer than the file does, and pauses
between replays do where pages must be warm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from iotune.models.cases import Case
from iotune.models.measuring.race import DEFAULT
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS, Reported, seconds_in
from iotune.models.replays.many import DEFAULTS, MOST_FILES, ManyBench
from iotune.models.replays.page_cache_timing import (
    Pause,
    is_page_cached,
    repeats_for,
    slowed_by_page_reporting,
)
from iotune.models.replays.preceding_files import PrecededPlan
from iotune.models.replays.run_journal import Kept
from iotune.models.replays.warm_pages import WarmPages
from iotune.models.settings.candidates import Candidate
from iotune.models.settings.file_layout import striping_of

from iotune.errors import Error
from iotune.replay.mpi import Mpi
from iotune.replay.plan_build import plan_bytes

# Files that take longer gain nothing by it; many larger ones fill the kernel's pages.
_LONGEST_SECONDS = 1.0
_LARGEST_BYTES = 64 << 20
# A round of few arms has several files of each while a replay has no more than so many.
_FEW_FILES = 8


def is_short(case: Case, file_bytes: int) -> bool:
    """Whether the start of a replay takes longer than its file."""
    return case.seconds <= _LONGEST_SECONDS and file_bytes <= _LARGEST_BYTES


def can_share(case: Case, replay: PrecededPlan) -> bool:
    """Whether rounds of this replay can be one replay each: it is of one file, and a short one."""
    plan = replay.plan
    if len(plan.files) != 1 or not is_short(case, plan_bytes(plan)):
        return False
    # A file that is read must lie as the program's does.
    return not (plan.prepares and case.file and striping_of(case.file))


class SharedRounds(ManyBench):
    """Measures all arms of a round in one replay, and a few rounds of two arms."""

    def __init__(
        self, case: Case, replay: PrecededPlan, mpi: Mpi, replayer: Path, scratch: Path,
        arms: int, seed: int,
    ):  # fmt: skip
        """`arms`: of the largest round, at least."""
        super().__init__(case, replay.plan, mpi, replayer, scratch, seed)
        self.notes[:0] = replay.notes
        self._repeats = 1
        needed_bytes = plan_bytes(replay.plan) * MOST_FILES
        if slowed_by_page_reporting(self.files, needed_bytes):
            self.pace = WarmPages(needed_bytes)
        if self._prepares:  # each file is written before
            self.most_candidates = min(self.most_candidates, arms)

    def settle(self, limit_seconds: float = TIMEOUT_SECONDS) -> None:
        """As ManyBench; and how often short files are written."""
        super().settle(limit_seconds)
        # What a replay frees the next one gets, which begins before the host takes it.
        self.pace = Pause(0.0)
        if not self._prepares and is_page_cached(self.files):
            self._repeats = repeats_for(self.of_default)

    def parts_of(self, arms: Sequence[str]) -> list[Sequence[str]]:
        """All at once."""
        return [arms]

    def measured_together(
        self, arms: Mapping[str, Candidate], limit_seconds: float = TIMEOUT_SECONDS
    ) -> dict[str, Reported]:
        """One round, within limits of its own. Raises Error where the default fails, alone too."""
        return self._journalled(arms, 1)[0]

    def measured_rounds(
        self, arms: Mapping[str, Candidate], rounds: int, seed: int, done: Callable[[], None]
    ) -> dict[str, list[float]]:
        """As ReplayBench, in an order of its own."""
        found: dict[str, list[float]] = {name: [] for name in arms}
        for one in self._journalled(arms, rounds):
            for name, reported in one.items():
                found[name].append(seconds_in(reported))
                done()
        return found

    def _journalled(self, arms: Mapping[str, Candidate], rounds: int) -> list[dict[str, Reported]]:
        """Where the journal has all of it from a training that was killed, nothing runs."""
        asked = [(number, name) for number in range(rounds) for name in arms]
        known: dict[tuple[int, str], Reported] = {}
        if self.journal is not None:
            for number, name in asked:
                kept = self.journal.next(name, arms[name].text)
                if kept is not None:
                    known[number, name] = (kept.seconds, kept.effect)
        if len(known) == len(asked):
            measured = [{name: known[number, name] for name in arms} for number in range(rounds)]
        else:
            measured = self._rounds(arms, rounds)
        if self.journal is not None:
            for number, name in asked[len(known) :]:
                self.journal.add(Kept(name, arms[name].text, *measured[number][name]))
        return measured

    def _rounds(self, arms: Mapping[str, Candidate], rounds: int) -> list[dict[str, Reported]]:
        most_files = self.most_candidates + DEFAULTS
        reason = ""
        if rounds > 1 and len(arms) * rounds > most_files:
            return [one for _ in range(rounds) for one in self._rounds(arms, 1)]
        if len(arms) <= max(2, most_files):
            try:
                return self._replayed(arms, rounds, most_files)
            except Error as problem:
                if list(arms) == [DEFAULT]:
                    raise
                reason = f"failed: {problem}"
        names = [name for name in arms if name != DEFAULT]
        of_default = {DEFAULT: arms[DEFAULT]}
        if len(names) == 1:
            # Raises where it is the default's fault.
            alone = self._rounds(of_default, rounds)
            return [{**one, names[0]: (None, reason)} for one in alone]
        half = len(names) // 2
        halves = [
            self._rounds(of_default | {name: arms[name] for name in part}, rounds)
            for part in (names[:half], names[half:])
        ]
        return [second | first for first, second in zip(*halves)]

    def _replayed(
        self, arms: Mapping[str, Candidate], rounds: int, most_files: int
    ) -> list[dict[str, Reported]]:
        of_one = len(arms) * rounds
        copies = max(1, min(self._repeats, max(1, _FEW_FILES // of_one), most_files // of_one))
        copies -= 1 - copies % 2
        order: list[str] = []
        for _ in range(rounds):
            block = list(arms) * copies
            self._draw.shuffle(block)
            order += block
        seconds = self.replay_files([arms[name] for name in order], self.limit_of(len(order)))
        size = len(arms) * copies
        found = []
        for first in range(0, len(order), size):
            files = range(first, first + size)
            of_arm = {
                name: [(at, seconds[at]) for at in files if order[at] == name] for name in arms
            }
            found.append({name: self._reported(arms[name], one) for name, one in of_arm.items()})
        return found

    def _reported(self, candidate: Candidate, files: Sequence[tuple[int, float]]) -> Reported:
        """`files`: of one round, their numbers and seconds."""
        return median(seconds for _, seconds in files), self.effect_on(files[0][0], candidate)
