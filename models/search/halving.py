"""The race of measuring/race.py as a search: all once, the slower half out, until three remain."""

from __future__ import annotations

from iotune.models.search.interface import Problem, Search

_FINALISTS = 3
_LAST_ROUNDS = 5


class HalvingSearch(Search):
    """The first round is in the order of the problem, which lists the most hopeful first."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        self._left = list(range(len(problem.points)))
        self._waiting = list(self._left)
        self._last_rounds = _LAST_ROUNDS

    def next(self) -> int | None:
        """Who still runs in this round; the default runs in every one."""
        while True:
            while self._waiting:
                one = self._waiting.pop(0)
                if one not in self.failed:
                    return one
            if not self._halved():
                return None
            self._waiting = [0, *(one for one in self._left if one != 0)]

    def _halved(self) -> bool:
        alive = [one for one in self._left if one in self.seconds and one != 0]
        alive.sort(key=lambda one: (min(self.seconds[one]), one))
        if len(alive) > _FINALISTS:
            self._left = alive[: max(_FINALISTS, len(alive) // 2)]
            return True
        self._left = alive
        self._last_rounds -= 1
        return self._last_rounds >= 0 and bool(alive)
