"""What tuning buys: the program's default, an expert's ROMIO_HINTS, iotune, the best there is.

Each case is searched exhaustively over models/space.py; the plain trainer gets at most a quarter
of the search's runs. The search's five best are run again, interleaved with the other arms, and
the best of these is what iotune is compared with. Stopped, it goes on from tuning.state.json.

  make bench NAME=tuning                    everything that is there: takes hours
  .venv/bin/python tests/bench/bench_tuning.py --only 'cyclic-io.*disk' --final 7
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from iotune.models.candidates import Candidate, Shape
from iotune.models.space import space

from paired import Comparison, Estimate, Table, at_least
from tuning_cases import KERNELS, Arms, Case, State, storages

REPEATS = 2  # of each point in the search
TRAINER_ROUNDS = 3
BEST = 5


def cases(only: str, scratch: Path) -> list[Case]:
    found = [
        Case(kernel, words, write, storage)
        for storage in storages(scratch).values()
        for kernel, words in KERNELS.items()
        for write in (True, False)
    ]
    return [case for case in found if re.search(only, case.name)]


def points(case: Case) -> list[Candidate]:
    filesystem = "cephfs" if case.storage.name == "cephfs" else "ext4"
    return space(
        Shape(
            write=case.write, collective="--collective" in case.words, distributions=("BLOCK",),
            ranks=case.storage.ranks, file_bytes=1 << 28, filesystem=filesystem, element_bytes=8,
        )
    )  # fmt: skip


def trainer_budget(searched: int, rounds: int) -> int:
    """Candidates, so that the trainer makes at most a quarter of the search's runs.

    One recorded run, one each to settle in, `rounds` of all arms, `rounds` of two to confirm.
    """
    return max(1, (searched // 4 - 2 - 3 * rounds) // (1 + rounds))


def search(case: Case, arms: Arms, state: State) -> list[Candidate]:
    """Measure every point REPEATS times in a drawn order; the best first, by the faster one."""
    known: dict[str, list[float]] = state.of(case).setdefault("search", {})
    all_points = points(case)
    todo = [one for one in all_points for _ in range(REPEATS - len(known.get(one.text, [])))]
    random.SystemRandom().shuffle(todo)
    for number, one in enumerate(todo):
        known.setdefault(one.text, []).append(arms.settings(one.settings))
        state.save()
        print(f"\r{case.name}: {len(todo) - number - 1} to go ", end="", file=sys.stderr)
    return sorted(all_points, key=lambda one: min(known[one.text]))


def measure(case: Case, state: State, build: Path, out: Path, rounds: int) -> None:
    """All that is wanting of a case."""
    own = state.of(case)
    arms = Arms(case, build, out / "tuning" / re.sub(r"\W+", "-", case.name))
    try:
        arms.prepare()
        arms.default()
        if "trained" not in own:
            budget = trainer_budget(REPEATS * len(points(case)), TRAINER_ROUNDS)
            own["trained"] = arms.train(TRAINER_ROUNDS, budget) | {"budget": budget}
            state.save()
        best = search(case, arms, state)[:BEST]
        runners: dict[str, Callable[[], float]] = {
            "default": arms.default,
            "hints": arms.hints,
            "iotune": arms.iotune,
        }
        for place, one in enumerate(best):
            runners[f"best{place}"] = lambda one=one: arms.settings(one.settings)  # type: ignore[misc]
        own["best"] = [one.text for one in best]
        final: list[dict[str, float]] = own.setdefault("final", [])
        while len(final) < rounds:
            order = list(runners)
            random.SystemRandom().shuffle(order)
            final.append({name: runners[name]() for name in order})
            state.save()
    finally:
        arms.close()


def ratio(rounds: list[dict[str, float]], arm: str, base: str) -> Estimate:
    """Medians over interleaved rounds: how many times faster `arm` is than `base`."""
    numbers = {name: [one[name] for one in rounds] for name in (arm, base)}
    comparison = Comparison("", numbers, [], 20151115)
    return comparison.ratio(base, arm)


def report(table: Table, case: Case, state: State) -> None:
    own = state.of(case)
    rounds = own["final"]
    table.rounds[case.name] = own
    bests = [name for name in rounds[0] if name.startswith("best")]
    best = min(bests, key=lambda name: statistics.median(one[name] for one in rounds))
    table.add(f"{case.name}: iotune against default", ratio(rounds, "iotune", "default"))
    table.add(f"{case.name}: ROMIO_HINTS against default", ratio(rounds, "hints", "default"))
    table.add(
        f"{case.name}: iotune against the best of {len(points(case)) + 1}",
        ratio(rounds, "iotune", best),
        at_least(0.90),
    )
    chosen = own["trained"]["settings"] or own["trained"]["state"]
    print(f"{case.name}: iotune {chosen}; best {own['best'][int(best[4:])]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--only", default="", help="cases whose name this finds")
    parser.add_argument("--final", type=int, default=9, help="rounds of the last comparison")
    options = parser.parse_args()
    scratch = options.out / "files"
    scratch.mkdir(parents=True, exist_ok=True)
    state = State(options.out / "tuning.state.json")
    table = Table("tuning")
    if "cephfs" not in storages(scratch):
        print("NOT VERIFIED cephfs: it is not up (tests/testbed/cephfs up)")
    for case in cases(options.only, scratch):
        measure(case, state, options.build, options.out, options.final)
        report(table, case, state)
    shutil.rmtree(scratch, ignore_errors=True)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
