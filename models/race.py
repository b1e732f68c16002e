"""A race of many candidates against the default: most runs go to those that may win.

Every round runs the default and whoever is left, in a drawn order. After each the slower half is
out. Two mechanisms may be worth more together than each alone, so the winner is joined with
the others that fit beside it, and the best two of all run to the end. An exhaustive search
gives each of a hundred combinations a run; this gives ten of them several.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from iotune.models.paired import Gain, compare

DEFAULT = "default"
_FINALISTS = 2
MOST_JOINED = 3
# Fewer say nothing of luck: their interval would be a point.
FEWEST_ROUNDS = 3


@dataclass
class Race:
    """Rounds that were run, and who still runs. `run` measures an arm by its name, in seconds.

    An arm of which `run` says None, because it failed or did not take effect, is out; the
    default's failure is the caller's exception.
    """

    run: Callable[[str], float | None]
    seed: int
    rounds: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)

    def round(self, names: Sequence[str]) -> list[str]:
        """One run of each and of the default; those of `names` that are still in."""
        order = [DEFAULT, *names]
        self._draw.shuffle(order)
        now = {name: seconds for name in order if (seconds := self.run(name)) is not None}
        if DEFAULT not in now:
            raise ValueError("the default was not measured")
        self.rounds.append(now)
        return [name for name in names if name in now]

    def rounds_of(self, name: str) -> list[dict[str, float]]:
        """Those that `name` took part in."""
        return [one for one in self.rounds if name in one]

    def speed(self, name: str) -> float:
        """Its best run against the default's best of the same rounds: tails only add time."""
        shared = self.rounds_of(name)
        return min(one[DEFAULT] for one in shared) / min(one[name] for one in shared)

    def fastest(self, names: Sequence[str]) -> list[str]:
        """The fastest first."""
        return sorted(names, key=self.speed, reverse=True)

    def gain(self, name: str, comparisons: int) -> Gain | None:
        """Against the default in the rounds that both ran; None: it never ran to its end."""
        shared = self.rounds_of(name)
        if not shared:
            return None
        return compare(
            [one[DEFAULT] for one in shared], [one[name] for one in shared], self.seed, comparisons
        )

    def run_all(
        self,
        names: Sequence[str],
        rounds: int,
        join: Callable[[str, Sequence[str]], Sequence[str]],
    ) -> list[str]:
        """The whole race. `join(winner, others)` names what the winner may be joined to.

        Returns the finalists, the fastest first; each ran at least `rounds` times.
        """
        first = left = self.round(names)
        while len(left) > _FINALISTS:
            left = self.round(self.fastest(left)[: max(_FINALISTS, (len(left) + 1) // 2)])
        if not left:
            return []
        winner = self.fastest(left)[0]
        others = [name for name in self.fastest(first) if name != winner]
        joined = list(join(winner, others))[:MOST_JOINED]
        if joined:
            running = self.round([*left, *joined])
            left = self.fastest(running)[:_FINALISTS]
            # The last rounds tell whether what was joined is worth more than the winner alone.
            if winner in running and winner not in left:
                left[-1] = winner
        while left and min(len(self.rounds_of(name)) for name in left) < rounds:
            left = self.round(left)
        return self.fastest(left)


def most_runs(candidates: int, rounds: int) -> int:
    """Runs of a race with so many candidates, at most, and of the rounds that confirm it."""
    total, left = 1 + candidates, candidates
    while left > _FINALISTS:
        left = max(_FINALISTS, (left + 1) // 2)
        total += 1 + left
    total += 1 + left + MOST_JOINED
    total += (rounds - 1) * (1 + min(left + MOST_JOINED, _FINALISTS))
    return total + 2 * rounds


def joinable(
    winner: Mapping[str, str], other: Mapping[str, str], allowed: frozenset[str]
) -> dict[str, str] | None:
    """Both settings together, where they do not name the same and `allowed` has the sum.

    `allowed` holds canonical texts: combinations that mean something.
    """
    if set(winner) & set(other):
        return None
    together = {**winner, **other}
    text = ";".join(f"{name}={together[name]}" for name in sorted(together))
    return together if text in allowed else None
