"""Trainings whose truth is known: the race and its confirmation with drawn times.

The times of one setting differ by 3 % and have a heavy tail: one of twenty waits longer, by a
Pareto law of exponent 1.5. Four candidates, and five rounds of those that are in doubt.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from iotune.models.cases import Case
from iotune.models.contest import Contest
from iotune.models.measuring.race import most_runs
from iotune.models.options import Options
from iotune.models.replays.arm_bench import ArmBench
from iotune.models.settings.candidates import Candidate

SPREAD, TAIL_SHARE, TAIL_EXPONENT = 0.03, 0.05, 1.5
CANDIDATES, ROUNDS = 4, 5
MOST_RUNS = most_runs(CANDIDATES, ROUNDS)


class DrawnBench(ArmBench):
    """What models.contest measures with, without storage."""

    def __init__(self, gains: Mapping[str, float], seed: int):
        super().__init__(Case(0, {"descriptor": "<1D,(BLOCK),(8)>"}, {}))
        self.runs = 0
        self._gains, self._draw = gains, random.Random(seed)

    def settle(self) -> None:
        """Nothing has to settle."""

    def measured(
        self, name: str, candidate: Candidate, limit_seconds: float = 0.0
    ) -> tuple[float | None, str]:
        """Drawn seconds of one run."""
        self.runs += 1
        seconds = self._draw.lognormvariate(0.0, SPREAD)
        if self._draw.random() < TAIL_SHARE:
            seconds *= self._draw.paretovariate(TAIL_EXPONENT)
        return seconds / self._gains.get(name, 1.0), "applied"


def winner(gains: Mapping[str, float], seed: int) -> str:
    """The arm that a training stores, "" for the default; at most MOST_RUNS runs."""
    bench = DrawnBench(gains, seed)
    tried = [Candidate({"cb_nodes": str(number + 1)}) for number in range(CANDIDATES)]
    options = Options(rounds=ROUNDS, seed=seed)
    contest = Contest(bench, tried, [], frozenset(), options, lambda what, more: None)
    outcome = contest.outcome()
    assert bench.runs <= MOST_RUNS
    return outcome.winning_arm
