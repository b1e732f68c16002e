"""Plays searches on a response surface: every run that they ask for is looked up.

A surface is what was measured of one pattern: seconds of every candidate, some of them several
times. Noise is drawn from the candidate's own repeats, or where it has few from the relative
spread of all that have more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from iotune.models.search.interface import Point, Problem, Search

_FEWEST_REPEATS = 3


@dataclass(frozen=True)
class Surface:
    """Seconds of every candidate's runs; the first candidate is the default."""

    name: str
    points: Sequence[Point]
    seconds: Sequence[Sequence[float]]
    # What each candidate takes where the noise is taken out; empty: the medians of its runs. The
    # least of many medians is luck where few runs stand behind each.
    truth: Sequence[float] = ()

    def __post_init__(self) -> None:
        if len(self.points) != len(self.seconds) or not all(self.seconds):
            raise ValueError(f"{self.name}: every candidate needs at least one run")

    @property
    def best_seconds(self) -> float:
        """Of the best candidate."""
        return min(self.of(one) for one in range(len(self.points)))

    @property
    def headroom(self) -> float:
        """How many times faster than the default the best candidate is."""
        return self.of(0) / self.best_seconds

    def of(self, candidate: int) -> float:
        """What the candidate takes."""
        return self.truth[candidate] if self.truth else median(self.seconds[candidate])

    def score(self, candidate: int) -> float:
        """The best's time over the candidate's: 1 for the best."""
        return self.best_seconds / self.of(candidate)


class Player:
    """Draws the time of a candidate's next run."""

    def __init__(self, surface: Surface, seed: int):
        self._surface = surface
        self._random = random.Random(seed)
        self._spread = [
            one / median(runs)
            for runs in surface.seconds
            if len(runs) >= _FEWEST_REPEATS
            for one in runs
        ] or [1.0]

    def run(self, candidate: int) -> float:
        """Seconds of one run."""
        runs = self._surface.seconds[candidate]
        if len(runs) >= _FEWEST_REPEATS:
            return self._random.choice(runs)
        return median(runs) * self._random.choice(self._spread)


def play(search: Search, surface: Surface, seed: int, runs: int) -> list[float]:
    """The score of the search's best candidate after each of its runs, `runs` of them.

    A search that is over early keeps its last score. The default's own run is not given for free.
    """
    player = Player(surface, seed)
    scores: list[float] = []
    while len(scores) < runs:
        candidate = search.next()
        if candidate is None:
            break
        search.tell(candidate, player.run(candidate))
        scores.append(surface.score(search.best()))
    last = scores[-1] if scores else surface.score(0)
    return scores + [last] * (runs - len(scores))


def problem_of(surface: Surface, prior: object = None) -> Problem:
    """What a search is given of a surface: no times. `prior`: what a model expects of it."""
    return Problem(surface.points, prior)
