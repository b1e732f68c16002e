"""The worst case of tuning: every case's trained answer against the program's default.

Recording included. Goes on from what `make bench NAME=tuning` trained (tuning.state.json), adds
rounds until each interval is within 3 % of its value or --most rounds are done, and keeps them.
"""

from __future__ import annotations

import sys

from bench_tuning import ratio
from paired import Table, at_least
from tuning_cases import Arms, State, begin

FEWEST = 5
WITHIN = 0.03


def add_rounds(arms: Arms, state: State, rounds: list[dict[str, float]], most: int) -> None:
    while len(rounds) < most:
        if len(rounds) >= FEWEST:
            now = ratio(rounds, "iotune", "default")
            if max(now.high - now.value, now.value - now.low) <= WITHIN * now.value:
                return
        first = len(rounds) % 2 == 0  # by turns: neither arm is always the warmer one
        one = {"default": arms.default()} if first else {}
        one["iotune"] = arms.iotune()
        if not first:
            one["default"] = arms.default()
        rounds.append(one)
        state.save()


def main() -> int:
    session = begin(__doc__, most=(60, "rounds of a case"))
    table = Table("safety")
    for case in session.cases:
        own = session.state.of(case)
        if "trained" not in own:
            print(f"NOT VERIFIED {case.name}: not trained yet (make bench NAME=tuning)")
            continue
        rounds: list[dict[str, float]] = own.setdefault("safety", [])
        with session.arms(case) as arms:
            add_rounds(arms, session.state, rounds, session.options.most)
        table.rounds[case.name] = rounds
        seconds = min(one["default"] for one in rounds)
        short = "" if seconds >= 2 else f", runs of {seconds:.2g} s"
        table.add(
            f"{case.name}: iotune against default{short}",
            ratio(rounds, "iotune", "default"),
            at_least(0.97),
        )
    session.close()
    return table.finish(session.options.out)


if __name__ == "__main__":
    sys.exit(main())
