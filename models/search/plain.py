"""Searches that learn nothing: the floor for all others."""

from __future__ import annotations

import random

from iotune.models.search.interface import Problem, Search


class _Listed(Search):
    """What a run took changes nothing about the next."""

    def next_batch(self, most: int) -> list[int]:
        """The next of the list."""
        found: list[int] = []
        while len(found) < most and (one := self.next()) is not None:
            found.append(one)
        return found


class RandomSearch(_Listed):
    """Every candidate once, in a drawn order."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        self._order = list(range(len(problem.points)))
        random.Random(seed).shuffle(self._order)

    def next(self) -> int | None:
        """The next in the order."""
        return self._order.pop() if self._order else None


class GridSearch(_Listed):
    """Every candidate once, in the order in which the space lists them."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        self._next = 0

    def next(self) -> int | None:
        """The next in the order."""
        if self._next == len(self.problem.points):
            return None
        self._next += 1
        return self._next - 1
