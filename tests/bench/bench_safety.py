"""The worst case of tuning: every case's trained answer against the program's default.

Recording included. Goes on from what `make bench NAME=tuning` trained (tuning.state.json). A run
writes or reads as many files in a row as take --seconds, unless half of the storage's room is
less: in memory files are read several times over then. Rounds are added until the interval is
within 3 % of its value or --most rounds are done, and are kept. --report 1 measures nothing. A
second row tells whole runs of the same rounds, from the launcher's start to its end: iotune notes
what it saw at the end of a run, outside of the first.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping

from paired import Table, at_least
from tuning_cases import Arms, State, begin, steps_of
from tuning_search import Clock, Rounds, half_width, ratio

FEWEST = 5
WITHIN = 0.03
ARMS = ("default", "iotune")
WHOLE = ", whole run"


def enough(rounds: Rounds, most: int) -> bool:
    """Whether no round is wanted any more; by width alone, for to stop at a value chooses it."""
    if len(rounds) < FEWEST or len(rounds) >= most:
        return len(rounds) >= most
    return half_width(ratio(rounds, "iotune", "default")) <= WITHIN


def add_rounds(arms: Arms, state: State, rounds: Rounds, most: int, clock: Clock) -> None:
    clock.begin(f"at most {2 * most} runs", 2 * max(0, FEWEST - len(rounds)))
    while not enough(rounds, most):
        one: dict[str, float] = {}
        for arm in ARMS if len(rounds) % 2 == 0 else ARMS[::-1]:  # neither is always the warmer one
            one[arm] = getattr(arms, arm)()
            one[arm + WHOLE] = arms.whole_seconds
            clock.tick()
        rounds.append(one)
        state.save()


def lengthen(arms: Arms, seconds: float, settings: Mapping[str, str]) -> int:
    """Runs of `seconds` and more; how many files that takes, as far as the storage has room."""
    # The faster of two: the first finds the storage's folders and pages cold.
    took = min(arms.default(), arms.default())
    most = arms.room()
    while True:  # many files in a row may take less each than one alone
        arms.lengthen(min(most, steps_of(seconds, took / arms.steps)), settings)
        took = min(arms.default(), arms.default())
        if took >= seconds or arms.steps == most:
            break
    if took < seconds and not arms.case.write and arms.case.storage.rereads:
        arms.passes = steps_of(seconds, took)
    return arms.steps


def main() -> int:
    session = begin(
        __doc__,
        most=(60, "rounds of a case"),
        seconds=(2, "of a run, from its opens to its closes"),
        report=(0, "1: what was measured so far, and no more"),
    )
    table = Table("safety")
    options, state = session.options, session.state
    for number, case in enumerate(session.cases):
        own = state.of(case)
        rounds: Rounds = own.setdefault("safety", [])
        if not options.report and not (rounds and enough(rounds, options.most)):
            print(f"[{number + 1}/{len(session.cases)}] {case.name}", file=sys.stderr, flush=True)
            with session.arms(case) as arms:
                if "trained" not in own or not arms.database.exists():
                    print(f"NOT VERIFIED {case.name}: not trained (make bench NAME=tuning)")
                    continue
                settings = own["trained"]["settings"]
                if rounds:
                    arms.passes = own.get("safety_passes", 1)
                    arms.lengthen(own["safety_steps"], settings)
                else:
                    own["safety_steps"] = lengthen(arms, options.seconds, settings)
                    own["safety_passes"] = arms.passes
                began = time.monotonic()
                arms.default()
                add_rounds(
                    arms, state, rounds, options.most,
                    Clock(case.name, time.monotonic() - began),
                )  # fmt: skip
        if not rounds:
            continue
        table.rounds[case.name] = rounds
        seconds = statistics.median(one["default"] for one in rounds)
        answer = ";".join(f"{name}={value}" for name, value in own["trained"]["settings"].items())
        name = (
            f"{case.name}, {len(rounds)} rounds of {seconds:.2g} s, "
            f"{answer or own['trained']['state']}"
        )
        table.add(
            f"{name}: iotune against default", ratio(rounds, "iotune", "default"), at_least(0.97)
        )
        # Rounds of before have no whole runs.
        if any("iotune" + WHOLE in one for one in rounds):
            whole = ratio(rounds, "iotune" + WHOLE, "default" + WHOLE)
            table.add(f"{name}: whole runs", whole, at_least(0.97))
    session.close()
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
