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

from iotune.models.candidates import Candidate, Shape, candidates
from iotune.models.race import most_runs
from iotune.models.space import space

from paired import Comparison, Estimate, Table, at_least
from tuning_cases import Arms, Case, State, begin

REPEATS = 2  # of each point in the search
BEST = 5


def shape_of(case: Case) -> Shape:
    """What of it chooses the space."""
    filesystem = "cephfs" if case.storage.name == "cephfs" else "ext4"
    return Shape(
        write=case.write, collective="--collective" in case.words, distributions=("BLOCK",),
        ranks=case.storage.ranks, file_bytes=1 << 28, filesystem=filesystem, element_bytes=8,
    )  # fmt: skip


def points(case: Case) -> list[Candidate]:
    """The space, without the default."""
    return space(shape_of(case))


def trainer_options(case: Case) -> tuple[int, int]:
    """Rounds and candidates, so that the trainer makes at most a quarter of the search's runs.

    One of them records the program, one settles in. More rounds where all candidates fit.
    """
    most = REPEATS * len(points(case)) // 4 - 2
    hopeful = len(candidates(shape_of(case), 1000))
    for rounds in (7, 5, 3):
        fitting = [number for number in range(1, 64) if most_runs(number, rounds) <= most]
        if fitting and (fitting[-1] >= hopeful or rounds == 3):
            return rounds, min(fitting[-1], hopeful)
    raise ValueError(f"{case.name}: a space too small to train in a quarter of its runs")


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


def measure(case: Case, arms: Arms, state: State, rounds: int, searched: bool) -> None:
    """All that is wanting of a case."""
    own = state.of(case)
    arms.default()
    if "trained" not in own:
        rounds_each, budget = trainer_options(case)
        own["trained"] = arms.train(rounds_each, budget)
        own["trained"] |= {"budget": budget, "rounds": rounds_each}
        state.save()
    runners: dict[str, Callable[[], float]] = {
        "default": arms.default,
        "hints": arms.hints,
        "iotune": arms.iotune,
    }
    if searched:
        best = search(case, arms, state)[:BEST]
        for place, one in enumerate(best):
            runners[f"best{place}"] = lambda one=one: arms.settings(one.settings)  # type: ignore[misc]
        own["best"] = [one.text for one in best]
    final: list[dict[str, float]] = own.setdefault("final" if searched else "goals", [])
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
    rounds = own.get("final") or own["goals"]
    table.rounds[case.name] = own
    table.add(f"{case.name}: iotune against default", ratio(rounds, "iotune", "default"))
    table.add(f"{case.name}: ROMIO_HINTS against default", ratio(rounds, "hints", "default"))
    chosen = ";".join(f"{name}={value}" for name, value in own["trained"]["settings"].items())
    print(f"{case.name}: iotune {chosen or own['trained']['state']}")
    bests = [name for name in rounds[0] if name.startswith("best")]
    if not bests:
        return
    best = min(bests, key=lambda name: statistics.median(one[name] for one in rounds))
    print(f"{case.name}: best {own['best'][int(best[4:])]}")
    table.add(
        f"{case.name}: iotune against the best of {len(points(case)) + 1}",
        ratio(rounds, "iotune", best),
        at_least(0.90),
    )


def main() -> int:
    session = begin(
        __doc__,
        final=(9, "rounds of the last comparison"),
        search=(1, "0: without the search, iotune is compared with the default alone"),
    )
    table = Table("tuning")
    for case in session.cases:
        with session.arms(case) as arms:
            measure(case, arms, session.state, session.options.final, bool(session.options.search))
        report(table, case, session.state)
    session.close()
    return table.finish(session.options.out)


if __name__ == "__main__":
    sys.exit(main())
