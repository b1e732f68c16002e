"""A race of many candidates against the default: most runs go to those that may win.

Every round runs the default and all that are left, in a drawn order. The first round has one of
each mechanism, the next ones the others of those mechanisms that were not far behind. After that
the slower half is out each time, and who is far behind is out at once. Two mechanisms may be worth
more together than each alone, so the winner is joined with others that help and fit beside it. The
best three of all run on, until that would change little.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, median_low

from iotune.models.measuring.paired import Gain, compare

DEFAULT = "default"
_FINALISTS = 3
MOST_JOINED = 3
# Whose speed is so far below the first one's does not come back.
_CLOSE = 0.85
_CLOSE_ONCE = 0.6  # after a single run, which may have met a tail
# Fewer say nothing of luck: their interval would be a point.
FEWEST_ROUNDS = 3
# Who leads by so much needs no more rounds beside the others.
_FAR = 1.5
# A smaller gain is not worth a setting, nor more rounds after FEWEST_ROUNDS.
WORTHWHILE = 1.02


@dataclass
class Race:
    """Rounds that were run, and who still runs. `run` measures arms in order: seconds by name.

    An arm that `run` leaves out, because it failed or did not take effect, is out; the default's
    failure is the caller's exception.
    """

    run: Callable[[Sequence[str]], Mapping[str, float]]
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
        now = dict(self.run(order))
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
        """The default's median over its own.

        Not the best runs: where the luck of a file's placement makes a run faster, the best of
        few tells who was lucky. The default's of all rounds, and of an even number the lower one: a
        stall of the default in one round must not put those who ran there before the others.
        """
        own = median(one[name] for one in self.rounds_of(name))
        return median_low(one[DEFAULT] for one in self.rounds) / own

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
        mechanisms: Mechanisms | None = None,
    ) -> list[str]:
        """The whole race. `join(winner, others)` names what the winner may be joined to.

        Returns the finalists, the fastest first, with as many rounds as it took to tell: at most
        `rounds`.
        """
        kinds = mechanisms or Mechanisms({name: frozenset([name]) for name in names})

        def run(names: Sequence[str]) -> list[str]:
            return self._close(self.round(names)) if names else []

        left: list[str] = []
        begun: list[str] = []
        while later := kinds.next(names, begun, left) if begun else kinds.first(names):
            left = run([*left[: _half(len(left))], *later])
            begun += later
        for count in _heats(len(left)):
            if len(left) > _FINALISTS:
                left = run(left[:count])
        left = left[:_FINALISTS]
        if not left:
            return []
        winner = left[0]
        ran = self.fastest([name for name in names if self.rounds_of(name) and name != winner])
        joined = join(winner, [name for name in ran if self.speed(name) >= WORTHWHILE])
        if joined:
            running = run([*left, *joined[:MOST_JOINED]])
            left = running[:_FINALISTS]
            # The last rounds tell whether what was joined is worth more than the winner alone.
            if winner in running and winner not in left:
                left[-1] = winner
        allowed = most_runs(len(names), rounds) - 2 * rounds
        while left and self.runs + 1 + len(left) <= allowed:
            fewest = min(len(self.rounds_of(name)) for name in left)
            speed = self.speed(left[0])
            if fewest >= rounds or (fewest >= FEWEST_ROUNDS and speed < WORTHWHILE):
                break
            if fewest > 1 and speed >= _FAR:
                # Those as fast as the first are as good: more rounds would find the best of equals.
                left = self._close(left)
                break
            left = self.fastest(self.round(left))
        return left

    def _close(self, names: Sequence[str]) -> list[str]:
        """The fastest first, without those far behind it or, if that is faster, the default."""
        ordered = self.fastest(names)
        if not ordered:
            return []
        best = max(1.0, self.speed(ordered[0]))
        return [
            name
            for name in ordered
            if self.speed(name) >= best * (_CLOSE if len(self.rounds_of(name)) > 1 else _CLOSE_ONCE)
        ]


@dataclass(frozen=True)
class Mechanisms:
    """What each candidate sets, by its name: values that are words, and parameters of an amount.

    Candidates of one mechanism set the same, in other amounts. One that sets further amounts
    refines a mechanism.
    """

    kinds: Mapping[str, frozenset[str]]

    def first(self, names: Sequence[str]) -> list[str]:
        """The first of each mechanism that refines none."""
        found: dict[frozenset[str], str] = {}
        for name in names:
            kind = self.kinds[name]
            if not any(self._refines(name, other) for other in names):
                found.setdefault(kind, name)
        return list(found.values())

    def next(self, names: Sequence[str], begun: Sequence[str], left: Sequence[str]) -> list[str]:
        """Of those that have not `begun`: of the mechanisms of `left`, and what refines them.

        Of the other mechanisms a second one, where only one has begun: that may have had bad luck.
        """
        alive = {self.kinds[name] for name in left}
        of_kind = [self.kinds[name] for name in begun]
        found = []
        for name in names:
            kind = self.kinds[name]
            if name in begun or (kind not in alive and not self._is_wanted(name, of_kind, left)):
                continue
            found.append(name)
            of_kind.append(kind)
        return found

    def _is_wanted(self, name: str, of_kind: Sequence[frozenset[str]], left: Sequence[str]) -> bool:
        return of_kind.count(self.kinds[name]) == 1 or any(self._refines(name, one) for one in left)

    def _refines(self, name: str, other: str) -> bool:
        """Whether it sets what `other` does, and further amounts."""
        more = self.kinds[name] - self.kinds[other]
        return self.kinds[other] < self.kinds[name] and not any("=" in one for one in more)


def kind_of(settings: Mapping[str, str]) -> frozenset[str]:
    """Of a candidate's settings, as Mechanisms has them: a value with a digit is an amount."""
    return frozenset(
        name if any(map(str.isdigit, value)) else f"{name}={value}"
        for name, value in settings.items()
    )


def _heats(candidates: int) -> list[int]:
    """How many run in each further round, until no more than the finalists are left."""
    counts: list[int] = []
    while candidates > _FINALISTS + 1:
        candidates = _half(candidates)
        counts.append(candidates)
    return counts


def _half(candidates: int) -> int:
    return max(_FINALISTS, (candidates + 1) // 2)


def most_runs(candidates: int, rounds: int) -> int:
    """Runs of a race with so many candidates, at most, and of the rounds that confirm it."""
    # One of each mechanism; then twice half of those so far, and others.
    total = 1 + candidates + (2 * (1 + min(candidates, _half(candidates))) if candidates > 1 else 0)
    total += sum(1 + count for count in _heats(candidates))
    finalists = min(candidates, _FINALISTS)
    total += 1 + finalists + MOST_JOINED
    total += (rounds - 1) * (1 + min(finalists + MOST_JOINED, _FINALISTS))
    return total + 2 * rounds


def most_rounds(candidates: int, rounds: int) -> int:
    """Rounds of such a race, at most, without those that confirm it."""
    looks = 1 + (candidates > 1) + len(_heats(candidates)) + 1
    return looks + rounds - 1


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
