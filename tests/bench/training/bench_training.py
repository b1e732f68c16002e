"""How soon each search finds the best settings of a pattern, on surfaces that were measured.

Models are fitted to the patterns that are not held out; the others, chosen by name beforehand, are
judged (surfaces/held_out.txt). Each run that a search asks for is looked up, so that nothing of it
is timed. Then two kernels are trained as a user would, --rounds times: how long that takes. And a
storage is surveyed, once: what the kernels' first runs get of that.
--rounds is also the number of seeds. Rows count patterns whose best is 1.3 times the default at
least.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from iotune.models.gains.fit import FEWEST_PATTERNS, Fitted, fit
from iotune.models.gains.prior import Prior
from iotune.models.gains.rows import rows_of
from iotune.models.search import METHODS, Search, make_search
from iotune.models.search.replay import play, problem_of
from iotune.models.survey.trials import Surface

from bench.paired import Estimate, Table, arguments, at_least, at_most
from bench.training.drawn_trainings import MOST_RUNS, winner
from bench.training.expert import ExpertSearch
from bench.training.judging import (
    HEADROOM,
    Applied,
    Covered,
    Judged,
    applied,
    covered,
    judged,
    over_patterns,
)
from bench.training.spent import surveyed, trainings
from bench.training.surface_patterns import held_out as names_held_out
from bench.training.surfaces import load

STORAGES = ("disk", "nodes", "cephfs", "paced", "paced16")
DENSE_POINTS = 240  # of the older surfaces some have so many settings
AFTER = (1, 3, 5, 10, 20)
TRAININGS = 1000
# Runs that each search wants: 15 individuals in 40 generations; 336 to fit to, and the best 20.
OWN_BUDGETS = {"genetic": 600, "regression": 356, "ours": 20}
# Of the share of the best after so many runs, held out: issue 56.
COLD = {1: 0.85, 3: 0.93, 5: 0.96, 10: 0.98}
EXPERT = "expert"
TARGETS = {"cephfs": 4}  # of the storages that have stripes
FOLDS = 20
FEWEST_JUDGED = 10  # patterns whose best is HEADROOM times the default


def _search(one: Judged, method: str, prior: Prior, seed: int, targets: int) -> Search:
    problem = problem_of(one.flat, prior)
    if method == EXPERT:
        pattern = one.surface.subject.pattern
        return ExpertSearch(problem, targets, pattern["mode"] == "collective")
    return make_search(method, problem, seed)


def _scores(
    one: Judged, method: str, prior: Prior, seeds: int, after: Sequence[int] = AFTER,
    targets: int = 0,
) -> list[float]:  # fmt: skip
    plays = [
        play(_search(one, method, prior, seed, targets), one.flat, seed, max(after))
        for seed in range(seeds)
    ]
    return [float(np.mean([each[runs - 1] for each in plays])) for runs in after]


def _first(one: Judged, prior: Prior) -> tuple[float, float]:
    """Regret of the first prediction, and its gain over the default."""
    chosen = int(np.argmax(prior.mean))
    of_default, got = one.flat.of(0), one.flat.of(chosen)
    return got / one.flat.best_seconds - 1, of_default / got


def _storage(table: Table, storage: str, seeds: int) -> list[tuple[str, Applied]]:
    surfaces = load(storage)
    if len(surfaces) <= FEWEST_PATTERNS:
        print(f"NOT VERIFIED {storage}: {len(surfaces)} surfaces (run.py …/surfaces.py measure)")
        return []
    first_runs = _left_out_one_by_one(table, storage, surfaces, seeds)
    teaching = [one for one in surfaces if one.subject.name not in names_held_out()]
    judging = [one for one in surfaces if one.subject.name in names_held_out()]
    held_out = [one for one in map(judged, judging) if one]
    if not held_out or len(teaching) < FEWEST_PATTERNS:
        print(f"NOT VERIFIED {storage}, held out: {len(teaching)} surfaces teach where "
              f"{FEWEST_PATTERNS} are wanted, {len(held_out)} judge")  # fmt: skip
        return first_runs
    fitted = fit(rows_of(teaching))
    print(f"{storage}: {len(teaching)} patterns teach, {len(held_out)} of those held out "
               f"can gain {HEADROOM}")  # fmt: skip
    of_method: dict[str, list[list[float]]] = {}
    for one in held_out:
        prior = one.prior(fitted)
        for method in (*METHODS, EXPERT):
            scores = _scores(one, method, prior, seeds, targets=TARGETS.get(storage, 0))
            of_method.setdefault(method, []).append(scores)
    default = float(np.median([1 / one.flat.headroom for one in held_out]))
    table.add(f"{storage}: the default over the best known", default)
    for method, rows in of_method.items():
        for at, after in enumerate(AFTER):
            goal = at_least(COLD[after], "") if method == "ours" and after in COLD else None
            value = over_patterns([row[at] for row in rows])
            what = f"{storage}: {method}, best of {after} over the best known"
            if goal is None:
                table.add(what, value)
            else:
                table.judge(what, value, goal)
    _against_others(table, storage, of_method)
    dense = [one for one in held_out if len(one.flat.points) >= DENSE_POINTS]
    _own_budgets(table, storage, dense, fitted, seeds)
    _first_predictions(table, storage, held_out, fitted)
    return first_runs


def _against_others(table: Table, storage: str, of_method: dict[str, list[list[float]]]) -> None:
    """Comparators that ours is behind: by the interval of the paired differences, at any k."""
    ours, behind = np.array(of_method["ours"]), []
    for method, rows in of_method.items():
        for at, after in enumerate(AFTER):
            difference = over_patterns(list(ours[:, at] - np.array(rows)[:, at]))
            if difference.high is not None and difference.high < 0:
                behind.append(f"{method} after {after}")
    if behind:
        print(f"{storage}: behind {', '.join(behind)}")
    table.add(f"{storage}: comparators ahead of ours at some k", float(len(behind)),
              at_most(0, ""))  # fmt: skip


def _own_budgets(
    table: Table, storage: str, dense: Sequence[Judged], fitted: Fitted, seeds: int
) -> None:
    """The papers' searches with all the runs that they want, and ours after 20."""
    if not dense:
        print(f"NOT VERIFIED {storage}: no dense pattern that is held out can gain {HEADROOM}")
        return
    for method, runs in OWN_BUDGETS.items():
        scores = [_scores(one, method, one.prior(fitted), seeds, (runs,))[0] for one in dense]
        table.add(f"{storage}: {method}, at most {runs} runs, {len(dense)} dense patterns",
                  float(np.median(scores)))  # fmt: skip


def _first_predictions(
    table: Table, storage: str, held_out: Sequence[Judged], fitted: Fitted
) -> None:
    first = [_first(one, one.prior(fitted)) for one in held_out]
    table.judge(f"{storage}: first prediction, median regret, %",
                over_patterns([100 * one[0] for one in first]), at_most(10, "%"))  # fmt: skip
    table.add(f"{storage}: first prediction, the least gain", min(one[1] for one in first))


def _left_out_one_by_one(
    table: Table, storage: str, surfaces: Sequence[Surface], seeds: int
) -> list[tuple[str, Applied]]:
    """Each surface judged by a model that has not seen it; what it gets on its first run.

    Of more than FOLDS surfaces several are left out at a time: a model takes seconds to fit.
    """
    rows: list[list[float]] = []
    intervals: list[Covered] = []
    first_runs: list[tuple[str, Applied]] = []
    models = {
        fold: fit(rows_of([one for at, one in enumerate(surfaces) if at % FOLDS != fold]))
        for fold in range(min(FOLDS, len(surfaces)))
    }
    for at, surface in enumerate(surfaces):
        fitted = models[at % FOLDS]
        found, one = covered(rows_of([surface]), fitted), judged(surface)
        if found is not None:
            intervals.append(found)
        first = applied(surface, fitted)
        if first is not None:
            first_runs.append((storage, first))
        if one is not None:
            rows.append(_scores(one, "ours", one.prior(fitted), seeds))
    for at, after in enumerate(AFTER):
        if rows:
            table.add(f"{storage}: ours, leave one out, best of {after}",
                      over_patterns([row[at] for row in rows]))  # fmt: skip
    shares = [100 * one.share for one in intervals]
    share = _mean_over_patterns(shares)
    table.judge(f"{storage}: 90 % intervals that hold, leave one out, %", share, at_least(85, "%"))
    table.add(f"{storage}: median width of an interval, high over low",
              math.exp(float(np.median([one.width for one in intervals]))))  # fmt: skip
    return first_runs


def _mean_over_patterns(values: Sequence[float]) -> Estimate:
    draw = np.random.default_rng(20151120)
    means = draw.choice(np.array(values), (2000, len(values))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Estimate(float(np.mean(values)), float(low), float(high))


def _first_runs(table: Table, found: Sequence[tuple[str, Applied]]) -> None:
    """Patterns of all storages on their first run, each left out of its model."""
    can_gain = [one for _, one in found if one.best >= math.log(HEADROOM)]
    get = [one for one in can_gain if one.is_set]
    what = f"of {len(can_gain)} patterns left out that can gain {HEADROOM} get settings, %"
    share = 100 * len(get) / len(can_gain) if can_gain else 0.0
    if len(can_gain) < FEWEST_JUDGED:
        print(f"NOT VERIFIED first runs: {len(can_gain)} patterns left out can gain {HEADROOM}, "
              f"{FEWEST_JUDGED} are wanted")  # fmt: skip
        table.add(what, share)
    else:
        table.add(what, share, at_least(60, "%"))
    for storage, one in found:
        if one.is_set:
            print(f"  {storage}, {one.name}: {math.exp(one.gain):.2f} of {math.exp(one.best):.2f}")
    if get:
        table.judge("what these realise of their best",
                    over_patterns([math.exp(one.gain - one.best) for one in get]),
                    at_least(0.85, ""))  # fmt: skip
    least = min((one.gain for _, one in found), default=0.0)
    table.add("the least gain of all patterns left out on their first run", math.exp(least),
              at_least(0.95, ""))  # fmt: skip


def _by_size(table: Table) -> None:
    """Fitted on up to 4 ranks, judged on 8 and 16."""
    teaching = load("nodes")
    for storage in ("nodes8", "nodes16"):
        found = [one for one in map(judged, load(storage)) if one]
        if len(teaching) < 10 or not found:
            print(f"NOT VERIFIED {storage}: no surfaces")
            continue
        fitted = fit(rows_of(teaching))
        regrets = [100 * _first(one, one.prior(fitted))[0] for one in found]
        table.judge(f"{storage}: first prediction of a model of 4 ranks, median regret, %",
                    over_patterns(regrets), at_most(15, "%"))  # fmt: skip


def _decisions(table: Table) -> None:
    """Trainings with drawn times, of which it is known what is true."""
    false = sum(bool(winner({}, seed)) for seed in range(TRAININGS))
    table.add(f"false winners where all are equal, heavy-tailed noise, {MOST_RUNS} runs, %",
              100 * false / TRAININGS, at_most(2, "%"))  # fmt: skip
    found = sum(winner({"c1": 1.10}, seed) == "c1" for seed in range(TRAININGS))
    table.add(f"a gain of 10 % found, same noise, {MOST_RUNS} runs, %",
              100 * found / TRAININGS, at_least(90, "%"))  # fmt: skip


def _as_users_do(table: Table, options: argparse.Namespace) -> None:
    """Trainings in ordinary runs of the program, and what a survey brings of their gains."""
    build = options.build.resolve()
    with tempfile.TemporaryDirectory(dir=build) as folder:
        found = trainings(build, Path(folder), options.rounds)
        after = surveyed(build, Path(folder), options.survey_minutes)
    for survey in after:
        own = [one for one in found if one.name == survey.name]
        name, gain = survey.name, median(one.gain for one in own)
        print(f"  {name}: trained {gain:.2f}x by {own[-1].settings or 'nothing'}; "
              f"after the survey {survey.gain:.2f}x by {survey.settings or 'nothing'} "
              f"({survey.expected})")  # fmt: skip
        can_gain = gain >= HEADROOM
        table.add(f"a training of {name}, replays", median(one.replays for one in own))
        spent = median(one.runs_of_program for one in own)
        table.add(f"a training of {name}, in runs of the program", spent,
                  at_most(12, "") if can_gain else None)  # fmt: skip
        share = math.log(max(1.0, survey.gain)) / math.log(gain) if can_gain else 1.0
        table.add(f"a survey of {options.survey_minutes} minutes, first run of {name}: share of "
                  "the trained gain", share, at_least(0.5, "") if can_gain else None)  # fmt: skip


def main() -> int:
    options = arguments(__doc__, rounds=3, survey_minutes=5)
    table = Table("training")
    _decisions(table)
    _first_runs(
        table, [one for storage in STORAGES for one in _storage(table, storage, options.rounds)]
    )
    _as_users_do(table, options)
    _by_size(table)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
