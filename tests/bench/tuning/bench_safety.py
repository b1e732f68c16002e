"""The worst case of tuning: every case's trained answer against the program's default.

Recording included. Goes on from what `make bench NAME=tuning` trained (tuning.state.json). A run
writes or reads as many files in a row as take --seconds, unless half of the storage's room is
less: in memory files are read several times over then, and what a run writes on a disk stays within
what the kernel leaves unwritten. Rounds are kept, and gone on with where build and answer are still
theirs; after LOOKS of them it is asked whether the interval's lower end is within 1.5 % of its
value, and --most ends them. --report 1 measures nothing.

The ratio of medians is reported; judged is the rounds' own ratio (signed_rank.py), which holds,
fails, or is undecided. Whole runs of the same rounds, from the launcher's start to its end, have
two rows more: iotune notes what it saw at the end of a run, outside of the first.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

from bench.paired import Table, at_least
from bench.signed_rank import times_faster
from bench.tuning.kept_rounds import fitting, go_on
from bench.tuning.tuning_arms import Arms
from bench.tuning.tuning_search import Clock, Rounds, ratio
from bench.tuning.tuning_session import State, begin

# Looked at seldom, for each look may find a narrow interval by luck; even, for two rounds are one
# number of the judgement. Six numbers are the fewest that have an interval.
LOOKS = (12, 18, 28, 40, 60)
WITHIN = 0.015
GOAL = at_least(0.97)
ARMS = ("default", "iotune")
WHOLE = ", whole run"


def enough(rounds: Rounds, most: int) -> bool:
    """Whether no round is wanted any more; by width alone, for to stop at a value chooses it."""
    if len(rounds) >= most:
        return True
    # Of rounds that an earlier run measured beyond a look, the look is what counts.
    looks = [look for look in LOOKS if look <= len(rounds)]
    if not looks:
        return False
    found = times_faster(rounds[: looks[-1]], "iotune", "default")
    return found is not None and found.value - found.low <= WITHIN * found.value


def add_rounds(arms: Arms, state: State, rounds: Rounds, most: int, clock: Clock) -> None:
    clock.begin(f"at most {2 * most} runs", 2 * max(0, LOOKS[0] - len(rounds)))
    while not enough(rounds, most):
        one: dict[str, float] = {}
        for arm in ARMS if len(rounds) % 2 == 0 else ARMS[::-1]:  # neither is always the warmer one
            one[arm] = getattr(arms, arm)()
            one[arm + WHOLE] = arms.whole_seconds
            clock.tick()
        rounds.append(one)
        state.save()


def main() -> int:
    session = begin(
        __doc__,
        most=(LOOKS[-1], "rounds of a case"),
        seconds=(2, "of a run, from its opens to its closes"),
        report=(0, "1: what was measured so far, and no more"),
    )
    table = Table("safety")
    options, state = session.options, session.state
    for number, case in enumerate(session.cases):
        own = state.of(case)
        key = session.key(case)
        rounds: Rounds = own.get("safety", [])
        if options.report:
            if rounds and not fitting(own, "safety", key):
                print(f"{case.name}: rounds of another build or answer")
        elif not enough(fitting(own, "safety", key), options.most):
            print(f"[{number + 1}/{len(session.cases)}] {case.name}", file=sys.stderr, flush=True)
            with session.arms(case) as arms:
                if "trained" not in own or not arms.database.exists():
                    print(f"NOT VERIFIED {case.name}: not trained (make bench NAME=tuning)")
                    continue
                rounds = go_on(own, "safety", key)
                settings = own["trained"]["settings"]
                if rounds:
                    arms.passes = own.get("safety_passes", 1)
                    arms.lengthen(own["safety_steps"], settings)
                else:
                    arms.last(options.seconds, settings)
                    own["safety_steps"], own["safety_passes"] = arms.steps, arms.passes
                began = time.monotonic()
                arms.default()
                add_rounds(
                    arms, state, rounds, options.most,
                    Clock(case.name, time.monotonic() - began),
                )  # fmt: skip
        if rounds:
            add_rows(table, case.name, own["trained"], rounds)
            table.rounds[case.name] = rounds
    session.close()
    return table.finish(options.out)


def add_rows(table: Table, case: str, trained: Mapping[str, Any], rounds: Rounds) -> None:
    """Of a case: files alone, and whole runs."""
    seconds = statistics.median(one["default"] for one in rounds)
    answer = ";".join(f"{name}={value}" for name, value in trained["settings"].items())
    name = f"{case}, {len(rounds)} rounds of {seconds:.2g} s, {answer or trained['state']}"
    for what, part in (("iotune against default", ""), ("whole runs", WHOLE)):
        # Rounds of before have no whole runs.
        if not any("iotune" + part in one for one in rounds):
            continue
        table.add(f"{name}: {what}", ratio(rounds, "iotune" + part, "default" + part))
        found = times_faster(rounds, "iotune" + part, "default" + part)
        if len(rounds) >= LOOKS[0] and found is not None:
            table.judge(f"{name}: {what}, by the rounds' own ratios", found, GOAL)


if __name__ == "__main__":
    sys.exit(main())
