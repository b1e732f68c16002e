"""How soon each search finds the best settings of a pattern, on surfaces that were measured.

Models are fitted to the patterns that are not held out; the others, chosen by name beforehand, are
judged (surfaces/held_out.txt). Nothing is timed here: each run that a search asks for is looked up.
--rounds is the number of seeds. Rows count patterns whose best is 1.3 times the default at least.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from iotune.models.gains.fit import FEWEST_PATTERNS, Fitted, fit
from iotune.models.gains.prior import Prior, prior_of
from iotune.models.gains.rows import features_of, rows_of, settings_of
from iotune.models.search import METHODS, make_search
from iotune.models.search.replay import Surface as Flat
from iotune.models.search.replay import play, problem_of
from iotune.models.survey.trials import Surface

from bench.paired import Estimate, Table, arguments, at_least, at_most
from bench.training.drawn_trainings import MOST_RUNS, winner
from bench.training.surface_patterns import held_out as names_held_out
from bench.training.surfaces import load

STORAGES = ("disk", "nodes", "cephfs", "paced", "paced16")
HEADROOM = 1.3
DENSE_POINTS = 240  # of the older surfaces some have so many settings
AFTER = (1, 3, 5, 10, 20)
TRAININGS = 1000
# Runs that each search wants: 15 individuals in 40 generations; 336 to fit to, and the best 20.
OWN_BUDGETS = {"genetic": 600, "regression": 356, "ours": 20}
COLD = {1: 0.80, 3: 0.90, 5: 0.95, 10: 0.97, 20: 0.98}
SEEN = {1: 0.90, 3: 0.95, 5: 0.98}


@dataclass
class Judged:
    """A surface that is played on."""

    surface: Surface
    flat: Flat

    def prior(self, fitted: Fitted | None) -> Prior:
        """What a model expects of it."""
        subject = self.surface.subject
        texts = [";".join(f"{name}={value}" for name, value in one.items())
                 for one in self.flat.points]  # fmt: skip
        if fitted is None:
            return prior_of(subject.pattern, subject.question, texts, None)
        noise = fitted.score["noise"]
        return prior_of(subject.pattern, subject.question, texts, fitted.native(), noise)


def true_gains(ratios: Sequence[Sequence[float]]) -> list[float]:
    """Logarithms of how many times faster than the default each is, the noise taken out.

    Means of few runs are drawn towards their common mean, as far as the runs' own spread says that
    they differ by luck (empirical Bayes; Efron and Morris, 1975). The default, the first, is 1.
    """
    logs = [np.log(one) for one in ratios]
    means, runs = np.array([one.mean() for one in logs]), np.array([len(one) for one in logs])
    several = [one for one in logs if len(one) > 1]
    freedom = sum(len(one) - 1 for one in several)
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in several) / max(1, freedom)
    between = max(0.0, float(means.var(ddof=1)) - float(np.mean(within / runs)))
    kept = between / (between + within / runs) if between else np.zeros(len(runs))
    centre = float(means.mean())
    found = centre + kept * (means - centre)
    return [0.0, *(float(one) for one in found[1:])]


def over_patterns(values: Sequence[float]) -> Estimate:
    """Median, and its interval by drawing the patterns again: another third might be held out."""
    draw = np.random.default_rng(20151119)
    drawn = draw.choice(np.array(values), (2000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
    return Estimate(float(np.median(values)), float(low), float(high))


def judged(surface: Surface) -> Judged | None:
    """Seconds relative to the default of the same replay; None where nothing can be gained."""
    ratios = surface.ratios()
    defaults = [one.seconds for one in surface.trials if not one.settings and one.seconds]
    if not ratios.get("") or not defaults:
        return None
    texts = ["", *sorted(text for text in ratios if text)]
    scale = median(defaults)
    truth = [scale * math.exp(-one) for one in true_gains([ratios[text] for text in texts])]
    flat = Flat(
        surface.subject.name, [settings_of(text) for text in texts],
        [[scale / one for one in ratios[text]] for text in texts], truth,
    )  # fmt: skip
    return Judged(surface, flat) if flat.headroom >= HEADROOM else None


def _scores(
    one: Judged, method: str, prior: Prior, seeds: int, after: Sequence[int] = AFTER
) -> list[float]:
    plays = [
        play(make_search(method, problem_of(one.flat, prior), seed), one.flat, seed, max(after))
        for seed in range(seeds)
    ]
    return [float(np.mean([each[runs - 1] for each in plays])) for runs in after]


def _first(one: Judged, prior: Prior) -> tuple[float, float]:
    """Regret of the first prediction, and its gain over the default."""
    chosen = int(np.argmax(prior.mean))
    of_default, got = one.flat.of(0), one.flat.of(chosen)
    return got / one.flat.best_seconds - 1, of_default / got


def _storage(table: Table, storage: str, seeds: int) -> None:
    surfaces = load(storage)
    teaching = [one for one in surfaces if one.subject.name not in names_held_out()]
    judging = [one for one in surfaces if one.subject.name in names_held_out()]
    held_out = [one for one in map(judged, judging) if one]
    if not held_out or len(teaching) < FEWEST_PATTERNS:
        print(f"NOT VERIFIED {storage}: no surfaces (run.py …/surfaces.py measure)")
        return
    fitted = fit(rows_of(teaching))
    print(f"{storage}: {len(teaching)} patterns teach, {len(held_out)} of those held out "
               f"can gain {HEADROOM}")  # fmt: skip
    of_method: dict[str, list[list[float]]] = {}
    for one in held_out:
        prior = one.prior(fitted)
        for method in METHODS:
            of_method.setdefault(method, []).append(_scores(one, method, prior, seeds))
    default = float(np.median([1 / one.flat.headroom for one in held_out]))
    table.add(f"{storage}: the default over the best known", default)
    for method, rows in of_method.items():
        for at, after in enumerate(AFTER):
            goal = at_least(COLD[after], "") if method == "ours" else None
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
    _applied(table, storage, judging, fitted)
    _coverage(table, storage, judging, fitted)
    _seen_before(table, storage, surfaces, seeds)


def _against_others(table: Table, storage: str, of_method: dict[str, list[list[float]]]) -> None:
    """Ours over whichever other search is best by then, in the median of patterns."""
    medians = {method: np.median(np.array(rows), axis=0) for method, rows in of_method.items()}
    for at, after in enumerate(AFTER):
        if after == 1:
            continue  # the others draw their first run
        best, value = max(
            ((method, float(one[at])) for method, one in medians.items() if method != "ours"),
            key=lambda pair: pair[1],
        )
        table.add(f"{storage}: ours over {best}, the best of the others, after {after}",
                  float(medians["ours"][at]) / value, at_least(1, ""))  # fmt: skip


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


def _applied(table: Table, storage: str, surfaces: Sequence[Surface], fitted: Fitted) -> None:
    """What a run without a measured answer gets: only what the interval is sure of."""
    model, gains, applied = fitted.native(), [], 0
    for surface in surfaces:
        ratios = surface.ratios()
        texts = ["", *sorted(text for text in ratios if text)]
        found = features_of(surface.subject.pattern, surface.subject.question, texts)
        if found is None or not ratios.get(""):
            continue
        truth = true_gains([ratios[text] for text in texts])
        expected = np.array(model.gains(found[0].tolist(), found[1].tolist()))
        sure = np.where(expected[:, 2] > 0, expected[:, 0], -np.inf)
        sure[0] = 0.0
        chosen = int(np.argmax(sure))
        applied += chosen != 0
        gains.append(math.exp(truth[chosen]))
    table.add(f"{storage}: of {len(gains)} held-out patterns so many get predicted settings",
              float(applied))  # fmt: skip
    table.add(f"{storage}: the least gain of these, or 1", min(gains))


def _coverage(table: Table, storage: str, surfaces: Sequence[Surface], fitted: Fitted) -> None:
    rows = rows_of(surfaces)
    gains = np.array(fitted.native().gains(rows.features.tolist(), rows.default.tolist()))
    inside = (gains[:, 2] <= rows.log_gain) & (rows.log_gain <= gains[:, 3])
    share = 100 * float(np.average(inside, weights=rows.weight))
    goal = at_least(85, "%") if share < 90 else at_most(95, "%")  # 85 to 95
    table.add(f"{storage}: 90 % intervals that hold, %", share, goal)


def _seen_before(table: Table, storage: str, surfaces: Sequence[Surface], seeds: int) -> None:
    """Each surface left out once: what is like it has been measured."""
    rows: list[list[float]] = []
    for surface in surfaces:
        one = judged(surface)
        if one is not None:
            others = [each for each in surfaces if each is not surface]
            rows.append(_scores(one, "ours", one.prior(fit(rows_of(others))), seeds))
    for at, after in enumerate(AFTER):
        value = over_patterns([row[at] for row in rows])
        what = f"{storage}: ours, leave one out, best of {after}"
        if after in SEEN:
            table.judge(what, value, at_least(SEEN[after], ""))
        else:
            table.add(what, value)


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


def main() -> int:
    options = arguments(__doc__, rounds=3)
    table = Table("training")
    _decisions(table)
    for storage in STORAGES:
        _storage(table, storage, options.rounds)
    _by_size(table)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
