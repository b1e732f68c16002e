"""What tuning buys: the program's default, an expert's ROMIO_HINTS, iotune, the best there is.

Each case is searched exhaustively over models/settings/space.py (tuning_search.py); the plain
trainer gets at most a quarter of the search's runs. The search's five best are run again,
interleaved with the other arms; the best of them and of the default is what iotune is compared
with, in rounds that did not choose it. Rounds are added until the intervals are narrow. Stopped, it
goes on from tuning.state.json; rounds of another build or another answer are put aside there.

  make bench NAME=tuning                                    all that is there: takes hours
  make bench NAME=tuning CASE='cyclic-io.* write disk'      one kernel, direction and storage
  bench_tuning.py --report 1                                what was measured so far
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from iotune.models.measuring.race import most_runs
from iotune.models.settings.candidates import Candidate, Shape, candidates
from iotune.models.settings.space import space

from bench.paired import Estimate, Goal, Table, at_least
from bench.tuning.kept_rounds import fitting, go_on
from bench.tuning.tuning_arms import Arms
from bench.tuning.tuning_cases import Case
from bench.tuning.tuning_search import (
    BEST,
    Clock,
    Enough,
    against_best,
    final_rounds,
    ratio,
    search,
    search_runs,
)
from bench.tuning.tuning_session import Session, begin

# A run repeats its file until it takes so many seconds, beside which what is paid once (a launch,
# the first files, which are recorded whole) is little: real runs take minutes and hours.
SHORTEST = 1.0
# Against the best: the value, and its lower bound.
VALUE, BOUND = at_least(0.95), at_least(0.90)
# Of a case's file where its own are not known, which changes no number of points.
_SOME_BYTES = 1 << 28


def shape_of(case: Case, file_bytes: int = _SOME_BYTES) -> Shape:
    """What of it chooses the space."""
    filesystem = "cephfs" if case.storage.name == "cephfs" else "ext4"
    return Shape(
        write=case.write, collective=case.collective, distributions=("BLOCK",),
        ranks=case.storage.ranks, file_bytes=file_bytes, filesystem=filesystem, element_bytes=8,
    )  # fmt: skip


def points(case: Case, file_bytes: int = _SOME_BYTES) -> list[Candidate]:
    """The space, without the default."""
    return space(shape_of(case, file_bytes))


def trainer_options(case: Case) -> tuple[int, int]:
    """Rounds and candidates, so that the trainer makes at most a quarter of the search's runs.

    One of them records the program, one settles in. More rounds where all candidates fit.
    """
    most = search_runs(len(points(case))) // 4 - 2
    hopeful = len(candidates(shape_of(case), 1000))
    for rounds in (7, 5, 3):
        fitting = [number for number in range(1, 64) if most_runs(number, rounds) <= most]
        if fitting and (fitting[-1] >= hopeful or rounds == 3):
            return rounds, min(fitting[-1], hopeful)
    raise ValueError(f"{case.name}: a space too small to train in a quarter of its runs")


def default_goal(case: Case) -> Goal | None:
    """Of iotune against the program's default."""
    if case.storage.name == "cephfs":
        if case.kernel in ("vpic-io", "gcrm-io"):
            return at_least(2)
        return at_least(1.5) if case.collective else None
    if case.storage.name == "disk" and case.collective:
        return {"column-io": at_least(3), "cyclic-io": at_least(5)}.get(case.kernel)
    return None


def enough_of(session: Session) -> Enough:
    return Enough(session.options.fewest, session.options.most)


def complete(case: Case, session: Session) -> bool:
    """Whether nothing is wanting of a case."""
    name = "final" if session.options.search else "goals"
    return enough_of(session).met(fitting(session.state.of(case), name, session.key(case)))


def measure(case: Case, arms: Arms, session: Session) -> None:
    """All that is wanting of a case."""
    own = session.state.of(case)
    save = session.state.save
    searched = bool(session.options.search)
    arms.default()
    own.setdefault("file_bytes", arms.file_bytes())
    began = time.monotonic()
    arms.default()
    clock = Clock(case.name, time.monotonic() - began)
    if "trained" not in own or not arms.database.exists():
        rounds_each, budget = trainer_options(case)
        clock.begin("training", most_runs(budget, rounds_each) + 2)
        own["trained"] = arms.train(rounds_each, budget)
        own["trained"] |= {"budget": budget, "rounds": rounds_each}
        save()
    settings = own["trained"]["settings"]
    if "steps" in own:
        arms.passes = own.get("passes", 1)
        arms.lengthen(own["steps"], settings)
    else:
        arms.last(SHORTEST, settings, warm=True)
        own["steps"], own["passes"] = arms.steps, arms.passes
        save()
    began = time.monotonic()
    default_seconds = arms.default()
    clock = Clock(case.name, time.monotonic() - began)
    runners: dict[str, Callable[[], float]] = {
        "default": arms.default,
        "hints": arms.hints,
        "iotune": arms.iotune,
    }
    if searched:
        known: dict[str, list[float]] = own.setdefault("search", {})
        if "best" not in own:
            fastest = search(
                points(case, own["file_bytes"]),
                known,
                lambda one, limit_seconds: arms.settings(one.settings, limit_seconds),
                save,
                clock,
                default_seconds,
            )
            own["best"] = [one.text for one in fastest[:BEST]]
            save()
        of_text = {one.text: one for one in points(case, own["file_bytes"])}
        for place, text in enumerate(own["best"]):
            point = of_text[text].settings
            runners[f"best{place}"] = lambda point=point: arms.settings(point)  # type: ignore[misc]
    rounds = go_on(own, "final" if searched else "goals", session.key(case))
    final_rounds(runners, rounds, enough_of(session), save, clock, arms.renew)


def best_text(own: dict[str, Any], arms: tuple[str, str]) -> str:
    """What stood behind the best arms of the comparison's halves."""
    texts = [
        "default" if arm == "default" else str(own["best"][int(arm.removeprefix("best"))])
        for arm in arms
    ]
    return ", or ".join(dict.fromkeys(texts))


def _cell(number: Estimate, word: str) -> str:
    return f"{number.value:.3g} ({number.low:.3g} to {number.high:.3g}) {word}".rstrip()


def report(table: Table, case: Case, session: Session) -> list[str]:
    """The case's numbers into the table; its row for people."""
    own = session.state.of(case)
    key = session.key(case)
    kinds = [name for name in ("final", "goals") if own.get(name)]
    # Of this build, where there are any; --report tells what an earlier one gave too.
    name = next((name for name in kinds if fitting(own, name, key)), (kinds or [""])[0])
    if not name:
        return []
    rounds = own[name]
    if not fitting(own, name, key):
        print(f"{case.name}: rounds of another build or answer")
    table.rounds[case.name] = own
    seconds = statistics.median(one["default"] for one in rounds)
    gain, hints = ratio(rounds, "iotune", "default"), ratio(rounds, "hints", "default")
    goal = default_goal(case)
    table.add(f"{case.name}: iotune against default", gain, goal)
    table.add(f"{case.name}: ROMIO_HINTS against default", hints)
    word = "" if goal is None else f"{goal}: {_word(goal.holds(gain.value, gain.low, gain.high))}"
    chosen = ";".join(f"{name}={value}" for name, value in own["trained"]["settings"].items())
    row = [case.name, f"{seconds:.2f}", str(len(rounds)), _cell(gain, word), _cell(hints, "")]
    found = against_best(rounds, "iotune")
    if found is None:
        return [*row, "", chosen or own["trained"]["state"], ""]
    best, number = found
    name = f"{case.name}: iotune against the best of {len(points(case)) + 1}"
    table.add(name, number, BOUND)
    table.add(f"{name}, value", number.value, VALUE)
    holds = BOUND.holds(number.value, number.low, number.high) and VALUE.holds(
        number.value, None, None
    )
    runs = sum(len(times) for times in own["search"].values())
    own["search_runs"] = runs
    return [
        *row,
        _cell(number, f"of {runs} runs: {_word(holds)}"),
        chosen or own["trained"]["state"],
        best_text(own, best),
    ]


def _word(holds: bool) -> str:
    return "holds" if holds else "MISSED"


def show(rows: list[list[str]]) -> None:
    """One row a case."""
    titles = [
        "case", "default s", "rounds", "iotune against default", "ROMIO_HINTS",
        "iotune against the best, >= 0.95 and bound >= 0.90", "iotune chose", "the best",
    ]  # fmt: skip
    print("| " + " | ".join(titles) + " |\n|" + " --- |" * len(titles))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main() -> int:
    session = begin(
        __doc__,
        fewest=(Enough.fewest, "rounds of the last comparison"),
        most=(Enough.most, "rounds where the intervals stay wide"),
        search=(1, "0: without the search, iotune is compared with the default alone"),
        report=(0, "1: what was measured so far, and no more"),
    )
    table = Table("tuning")
    rows = []
    for number, case in enumerate(session.cases):
        if not session.options.report and not complete(case, session):
            print(f"[{number + 1}/{len(session.cases)}] {case.name}", file=sys.stderr, flush=True)
            with session.arms(case) as arms:
                measure(case, arms, session)
        row = report(table, case, session)
        rows += [row] if row else []
        if row and not session.options.report:
            show([row])
    session.close()
    show(rows)
    return table.finish(session.options.out)


if __name__ == "__main__":
    sys.exit(main())
