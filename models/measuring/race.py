"""A race of many candidates against the default: most runs go to those that may win.

Every round runs the default and all that are left, in a drawn order. After each the slower half is
out. Two mechanisms may be worth more together than each alone, so the winner is joined with
the others that fit beside it, and the best three of all run on, for as long as they are close and
runs are allowed. An exhaustive search gives each of a hundred combinations a run; this gives
ten of them several.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from iotune.models.measuring.paired import Gain, compare

DEFAULT = "default"
_FINALISTS = 3
MOST_JOINED = 3
# Whose speed is so far below the first one's does not come back.
_CLOSE = 0.85
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
    runs: int = 0

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)

    def round(self, names: Sequence[str]) -> list[str]:
        """One run of each and of the default; those of `names` that are still in."""
        order = [DEFAULT, *names]
        self._draw.shuffle(order)
        self.runs += len(order)
        now = {name: seconds for name in order if (seconds := self.run(name)) is not None}
        if DEFAULT not in now:
            raise ValueError("the default was not measured")
        self.rounds.append(now)
        return [name for name in names if name in now]

    def leader(self) -> tuple[str, float] | None:
        """Who is fastest of those in the last round, and how many times faster than the default."""
        names = [name for name in self.rounds[-1] if name != DEFAULT] if self.rounds else []
        if not names:
            return None
        first = self.fastest(names)[0]
        return first, self.speed(first)

    def rounds_of(self, name: str) -> list[dict[str, float]]:
        """Those that `name` took part in."""
        return [one for one in self.rounds if name in one]

    def speed(self, name: str) -> float:
        """Its median against the default's of the same rounds.

        Not the best runs: where the luck of a file's placement makes a run faster, the best of
        few tells who was lucky.
        """
        shared = self.rounds_of(name)
        return median(one[DEFAULT] for one in shared) / median(one[name] for one in shared)

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

        Returns the finalists, the fastest first; each ran at least `rounds` times, more where
        two are close and `most_runs` leaves room.
        """

        def run(names: Sequence[str]) -> list[str]:
            return self.fastest(self.round(names))

        first = left = run(names)
        for count in _heats(len(names)):
            if len(left) > _FINALISTS:
                left = run(left[:count])
        left = left[:_FINALISTS]
        if not left:
            return []
        winner = left[0]
        joined = join(winner, [name for name in first if name != winner])
        if joined:
            running = run([*left, *joined[:MOST_JOINED]])
            left = running[:_FINALISTS]
            # The last rounds tell whether what was joined is worth more than the winner alone.
            if winner in running and winner not in left:
                left[-1] = winner
        allowed = most_runs(len(names), rounds) - 2 * rounds
        while left and self.runs + 1 + len(left) <= allowed:
            fewest = min(len(self.rounds_of(name)) for name in left)
            if fewest >= rounds:
                left = [name for name in left if self.speed(name) >= _CLOSE * self.speed(left[0])]
                if len(left) == 1:
                    break
            left = run(left)
        return left


def _heats(candidates: int) -> list[int]:
    """How many run in each round after the first, until no more than the finalists are left."""
    counts: list[int] = []
    while candidates > _FINALISTS + 1:
        candidates = max(_FINALISTS, (candidates + 1) // 2)
        counts.append(candidates)
    return counts


def most_runs(candidates: int, rounds: int) -> int:
    """Runs of a race with so many candidates, at most, and of the rounds that confirm it."""
    total = 1 + candidates + sum(1 + count for count in _heats(candidates))
    finalists = min(candidates, _FINALISTS)
    total += 1 + finalists + MOST_JOINED
    total += (rounds - 1) * (1 + min(finalists + MOST_JOINED, _FINALISTS))
    return total + 2 * rounds


def joinable(
    winner: Mapping[str, str], other: Mapping[str, str], allowed: frozenset[str]
) -> dict[str, str] | None:
    """Both settings together, where they do not name the same and `allowed` has the sum.

    `allowed` holds canonical texts: combinations that mean something.
    """
    if set(winner) & set(other):
        return None
    joined = {**winner, **other}
    text = ";".join(f"{name}={joined[name]}" for name in sorted(joined))
    return joined if text in allowed else None
