"""What measures the arms of a contest: which of them at once, and a few rounds of two."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from iotune.models.cases import Case
from iotune.models.measuring.paired import measure_rounds
from iotune.models.settings.candidates import Candidate

from iotune.errors import Error

# A hanging replay must not hold up the others.
TIMEOUT_SECONDS = 600.0

# Seconds of one arm, and its effect: "applied", or why there is no time.
Reported = tuple[float | None, str]


def seconds_in(reported: Reported) -> float:
    """Raises Error where there are none."""
    seconds, effect = reported
    if seconds is None:
        raise Error(effect.removeprefix("failed: "))
    return seconds


class ArmBench(ABC):
    """Measures one arm after the other."""

    def __init__(self, case: Case):
        self.case = case
        self.notes: list[str] = []

    @abstractmethod
    def settle(self) -> None:
        """What is done before the first measurement, and counts for nothing. Raises Error."""

    @abstractmethod
    def measured(
        self, name: str, candidate: Candidate, limit_seconds: float = TIMEOUT_SECONDS
    ) -> Reported:
        """One run of an arm. Raises Error where the default, which sets nothing, fails."""

    def parts_of(self, arms: Sequence[str]) -> list[Sequence[str]]:
        """The arms of a round in the parts that are measured at once."""
        return [[name] for name in arms]

    def measured_together(
        self, arms: Mapping[str, Candidate], limit_seconds: float = TIMEOUT_SECONDS
    ) -> dict[str, Reported]:
        """As measured(), of one of parts_of()."""
        return {name: self.measured(name, one, limit_seconds) for name, one in arms.items()}

    def measured_rounds(
        self, arms: Mapping[str, Candidate], rounds: int, seed: int, done: Callable[[], None]
    ) -> dict[str, list[float]]:
        """Seconds of each arm in each round; `done` follows each. Raises Error where one fails."""
        run = {name: functools.partial(self._seconds, name, one) for name, one in arms.items()}
        return measure_rounds(run, rounds, seed, done)

    def _seconds(self, name: str, candidate: Candidate) -> float:
        return seconds_in(self.measured(name, candidate))
