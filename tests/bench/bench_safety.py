"""The worst case of tuning: every case's trained answer against the program's default.

Recording included. Goes on from what `make bench NAME=tuning` trained (tuning.state.json), adds
rounds until each interval is within 3 % of its value or --most rounds are done, and keeps them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

from bench_tuning import cases, ratio
from paired import Table, at_least
from tuning_cases import Arms, State, storages

FEWEST = 5
WITHIN = 0.03


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--only", default="", help="cases whose name this finds")
    parser.add_argument("--most", type=int, default=60, help="rounds of a case")
    options = parser.parse_args()
    scratch = options.out / "files"
    scratch.mkdir(parents=True, exist_ok=True)
    state = State(options.out / "tuning.state.json")
    table = Table("safety")
    if "cephfs" not in storages(scratch):
        print("NOT VERIFIED cephfs: it is not up (tests/testbed/cephfs up)")
    for case in cases(options.only, scratch):
        own = state.of(case)
        if "trained" not in own:
            print(f"NOT VERIFIED {case.name}: not trained yet (make bench NAME=tuning)")
            continue
        rounds: list[dict[str, float]] = own.setdefault("safety", [])
        arms = Arms(case, options.build, options.out / "tuning" / re.sub(r"\W+", "-", case.name))
        try:
            arms.prepare()
            while len(rounds) < options.most:
                if len(rounds) >= FEWEST:
                    now = ratio(rounds, "iotune", "default")
                    if max(now.high - now.value, now.value - now.low) <= WITHIN * now.value:
                        break
                first = len(rounds) % 2 == 0  # by turns: neither arm is always the warmer one
                one = {"default": arms.default()} if first else {}
                one["iotune"] = arms.iotune()
                if not first:
                    one["default"] = arms.default()
                rounds.append(one)
                state.save()
        finally:
            arms.close()
        table.rounds[case.name] = rounds
        seconds = min(one["default"] for one in rounds)
        short = "" if seconds >= 2 else f", runs of {seconds:.2g} s"
        table.add(
            f"{case.name}: iotune against default{short}",
            ratio(rounds, "iotune", "default"),
            at_least(0.97),
        )
    shutil.rmtree(scratch, ignore_errors=True)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
