"""The exhaustive search of a case, and the rounds in which its best meet the other arms.

Every point of the space is measured, in a drawn order; the fastest AGAIN of them a second time,
for a point far behind is not the best by the luck of one run. What is compared in the end is
measured afresh: the search's times choose, and are in no ratio.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iotune.models.measuring.bootstrap import bootstrap
from iotune.models.settings.candidates import Candidate

from bench.paired import CONFIDENCE, RESAMPLES, Comparison, Estimate

AGAIN = 64
BEST = 5
# A point so many times slower than the fastest known is not the best: it is stopped there, and
# its launch has so many seconds to itself.
HOPELESS, LAUNCH_SECONDS = 8, 5.0
# Rounds of all BEST, which choose the CONTENDERS; the rounds after these compare.
CHOOSING = 3
CONTENDERS = 2

Rounds = list[dict[str, float]]
Save = Callable[[], None]


def search_runs(points: int) -> int:
    """Runs of a search of so many points, without those of its best."""
    return points + min(points, AGAIN)


@dataclass
class Clock:
    """Says how far a case is and what is left of it; to stderr, where somebody looks."""

    name: str
    run_seconds: float  # of one run and its launch
    shown: bool = sys.stderr.isatty()

    def begin(self, what: str, runs: int) -> None:
        """A phase of at most so many runs."""
        self.what, self.left, self.began, self.done = what, runs, time.monotonic(), 0
        if runs > 0:
            print(
                f"{self.name}: {what}, {runs} runs, some {_minutes(runs * self.run_seconds)}",
                file=sys.stderr,
                flush=True,
            )

    def tick(self) -> None:
        """One run is done."""
        self.done += 1
        self.left -= 1
        if self.shown:
            left = max(self.left, 0)
            rest = _minutes(left * (time.monotonic() - self.began) / self.done)
            print(
                f"\r{self.name}: {self.what}, {left} runs, {rest} to go\033[K",
                end="" if self.left > 0 else "\n",
                file=sys.stderr,
                flush=True,
            )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def search(
    points: Sequence[Candidate],
    known: dict[str, list[float]],
    measure: Callable[[Candidate, float], float],
    save: Save,
    clock: Clock,
    default_seconds: float,
) -> list[Candidate]:
    """The points, the fastest first. `known` holds each one's times and is added to.

    `measure` runs a point and stops it after so many seconds, which are its time then.
    """

    def run(todo: list[Candidate], what: str) -> None:
        random.SystemRandom().shuffle(todo)
        clock.begin(what, len(todo))
        for one in todo:
            fastest = min([default_seconds, *(min(times) for times in known.values())])
            limit_seconds = LAUNCH_SECONDS + HOPELESS * fastest
            known.setdefault(one.text, []).append(measure(one, limit_seconds))
            save()
            clock.tick()

    run([one for one in points if not known.get(one.text)], "every point")
    by_first = sorted(points, key=lambda one: known[one.text][0])
    run([one for one in by_first[:AGAIN] if len(known[one.text]) < 2], "the fastest again")
    # A candidate that was left out after one run was behind AGAIN others then.
    return sorted(by_first[:AGAIN], key=lambda one: min(known[one.text]))


def ratio(rounds: Sequence[Mapping[str, float]], arm: str, base: str) -> Estimate:
    """Medians over the rounds that have both: how many times faster `arm` is than `base`."""
    both = [one for one in rounds if arm in one and base in one]
    numbers = {name: [one[name] for one in both] for name in (arm, base)}
    return Comparison("", numbers, [], 20151115).ratio(base, arm)


def half_width(number: Estimate) -> float:
    """Of the interval, as a share of the value."""
    return max(number.high - number.value, number.value - number.low) / number.value


def _median(rounds: Sequence[Mapping[str, float]], arm: str) -> float:
    return statistics.median(one[arm] for one in rounds)


def contenders(rounds: Rounds) -> list[str]:
    """The arms of the search's best that run beyond the first rounds, fastest first."""
    first = rounds[:CHOOSING]
    bests = [name for name in (first[0] if first else {}) if name.startswith("best")]
    if len(first) < CHOOSING:
        return bests
    return sorted(bests, key=lambda name: _median(first, name))[:CONTENDERS]


def against_best(rounds: Rounds, arm: str) -> tuple[tuple[str, str], Estimate] | None:
    """The best arms and `arm` against them, in rounds that did not choose contenders.

    The default is a point of the space too. Whichever arm is chosen by some rounds had luck in
    them: so the best by every second round meets `arm` in the others, the best by those in the
    first, and the two ratios' mean is reported. None: nothing was searched, or there are not two
    such rounds yet.
    """
    compared = rounds[CHOOSING:]
    halves = compared[::2], compared[1::2]
    names = [name for name in contenders(rounds) if all(halves) and name in compared[0]]
    if not names:
        return None
    best, other = (
        min(["default", *names], key=lambda name: _median(half, name)) for half in halves
    )
    return (best, other), _mean_ratio([(halves[1], best), (halves[0], other)], arm)


def _mean_ratio(parts: Sequence[tuple[Rounds, str]], arm: str) -> Estimate:
    """Of the ratios of `arm` to each part's base, in that part's rounds."""

    def mean(drawn: Sequence[Rounds]) -> float:
        ratios = (
            _median(half, base) / _median(half, arm)
            for half, (_, base) in zip(drawn, parts, strict=True)
        )
        return statistics.mean(ratios)

    halves = [half for half, _ in parts]
    # One seed: one interval of one JSON.
    low, high = bootstrap(halves, mean, 20151115, CONFIDENCE, RESAMPLES)
    return Estimate(mean(halves), low, high)


@dataclass(frozen=True)
class Enough:
    """When rounds are enough. By width alone: to stop at a value would choose it."""

    fewest: int = 13  # five in either half of those that compare
    most: int = 25
    within_best: float = 0.05
    within_default: float = 0.10

    def met(self, rounds: Rounds) -> bool:
        """Whether no round is wanted any more."""
        if len(rounds) < self.fewest:
            return False
        if len(rounds) >= self.most:
            return True
        best = against_best(rounds, "iotune")
        return (best is None or half_width(best[1]) <= self.within_best) and half_width(
            ratio(rounds, "iotune", "default")
        ) <= self.within_default


def final_rounds(
    runners: Mapping[str, Callable[[], float]],
    rounds: Rounds,
    enough: Enough,
    save: Save,
    clock: Clock,
    renew: Callable[[], None] = lambda: None,
) -> None:
    """Interleaved rounds in drawn orders, kept one by one, until there are enough.

    `renew` comes before each round: what all its arms have in common is made anew.
    """
    dropped = max(0, sum(name.startswith("best") for name in runners) - CONTENDERS)
    left, choosing = enough.fewest - len(rounds), CHOOSING - len(rounds)
    runs = max(0, left) * (len(runners) - dropped) + max(0, choosing) * dropped
    clock.begin("last comparison", runs)
    while not enough.met(rounds):
        chosen = contenders(rounds) if len(rounds) >= CHOOSING else list(runners)
        order = [name for name in runners if not name.startswith("best") or name in chosen]
        random.SystemRandom().shuffle(order)
        renew()
        now = {}
        for name in order:
            now[name] = runners[name]()
            clock.tick()
        # In one order in the JSON, whatever was drawn.
        rounds.append({name: now[name] for name in runners if name in now})
        save()
