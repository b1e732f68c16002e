"""The one face of all searches, and the problem that they are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# The settings of a candidate, name to value, as the database has them; none is the default.
Point = Mapping[str, str]


@dataclass(frozen=True)
class Problem:
    """Candidates of one pattern: the first is the default, without any setting."""

    points: Sequence[Point]
    # What is expected before the first run (iotune.models.gains.prior.Prior), or None. Searches
    # that start from nothing leave it alone.
    prior: object = None

    def __post_init__(self) -> None:
        if not self.points or self.points[0]:
            raise ValueError("the first candidate must be the default")

    def values(self) -> dict[str, list[str]]:
        """Every parameter that a candidate sets, with its values in order of appearance."""
        found: dict[str, list[str]] = {}
        for point in self.points:
            for name, value in point.items():
                values = found.setdefault(name, [])
                if value not in values:
                    values.append(value)
        return found


class Search(ABC):
    """Asks for one run after the other; given what each took, it names the best candidate so far.

    Candidates are named by their place in the problem. A candidate may be asked for again: runs
    differ by noise.
    """

    def __init__(self, problem: Problem, seed: int):
        self.problem = problem
        self.seed = seed
        self.seconds: dict[int, list[float]] = {}
        self.failed: set[int] = set()

    @abstractmethod
    def next(self) -> int | None:
        """The candidate to run next; None: the search is over."""

    def next_batch(self, most: int) -> list[int]:
        """Candidates to run side by side, at most so many; empty: the search is over.

        One alone, unless a search can choose several without knowing what the first took.
        """
        one = self.next() if most > 0 else None
        return [] if one is None else [one]

    def tell(self, candidate: int, seconds: float | None) -> None:
        """What a run of `candidate` took; None: it failed, and is not asked for again."""
        if seconds is None:
            self.failed.add(candidate)
            self.seconds.pop(candidate, None)
            return
        self.seconds.setdefault(candidate, []).append(seconds)

    def best(self) -> int:
        """The candidate of the least median so far; the default before the first run."""
        if not self.seconds:
            return 0
        return min(self.seconds, key=lambda one: (median(self.seconds[one]), one))

    def ranked(self, of_whole: object = None) -> list[int]:
        """Candidates that ran, the most promising first.

        `of_whole`: what is expected of a larger file, where the runs were of a smaller one.
        """
        best = self.best()
        others = sorted(self.seconds, key=lambda one: (median(self.seconds[one]), one))
        return [best, *(one for one in others if one != best)]

    @property
    def runs(self) -> int:
        """How many runs it was given, those that failed left out."""
        return sum(map(len, self.seconds.values()))
