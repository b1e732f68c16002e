"""What tuning buys: the program's default, an expert's ROMIO_HINTS, iotune, the best there is.

Each case is searched exhaustively over models/space.py; the plain trainer gets at most a quarter
of the search's runs. The search's five best are run again, interleaved with the other arms, and
the best of these is what iotune is compared with. Stopped, it goes on from tuning.state.json.

  make bench NAME=tuning                                    all that is there: takes hours
  make bench NAME=tuning CASE='cyclic-io.* write disk'      one kernel, direction and storage
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable

from iotune.models.candidates import Candidate, Shape
from iotune.models.space import space

from paired import Comparison, Estimate, Table, at_least
from tuning_cases import Arms, Case, State, begin

REPEATS = 2  # of each point in the search
TRAINER_ROUNDS = 3
BEST = 5


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


def measure(case: Case, arms: Arms, state: State, rounds: int) -> None:
    """All that is wanting of a case."""
    own = state.of(case)
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
    session = begin(__doc__, final=(9, "rounds of the last comparison"))
    table = Table("tuning")
    for case in session.cases:
        with session.arms(case) as arms:
            measure(case, arms, session.state, session.options.final)
        report(table, case, session.state)
    session.close()
    return table.finish(session.options.out)


if __name__ == "__main__":
    sys.exit(main())
