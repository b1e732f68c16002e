"""Surfaces that searches and models are judged on, and what a run would get from a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from iotune.models.gains.fit import Fitted
from iotune.models.gains.prior import Prior, prior_of
from iotune.models.gains.rows import Rows, features_of, luck_of_default, settings_of
from iotune.models.measuring.race import WORTHWHILE
from iotune.models.search.replay import Surface as Flat
from iotune.models.survey.trials import Surface

from bench.paired import Estimate

HEADROOM = 1.3
_WORTHWHILE = math.log(WORTHWHILE)  # as patterndb/gains/predicted.cpp has it


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


def ratios_of(surface: Surface) -> dict[str, list[float]]:
    """Surface.ratios() without the default's ill luck, as models see them.

    The default's are of all its files, each over the others of its replay: as an arm of its own it
    ran once or twice, and its luck there is not what it takes.
    """
    found = surface.ratios()
    replays = {one.batch: one.default_seconds for one in surface.trials}
    of_default = [
        median(times[:at] + times[at + 1 :]) / times[at]
        for times in replays.values()
        if len(times) > 1
        for at in range(len(times))
    ]
    texts = [text for text in found if text]
    features = features_of(surface.subject.pattern, surface.subject.question, texts)
    if features is not None:
        logs = np.array([np.median(np.log(found[text])) for text in texts])
        luck = math.exp(luck_of_default(features, logs))
        for text in texts:
            found[text] = [one / luck for one in found[text]]
    if of_default:
        found[""] = of_default
    return found


def over_patterns(values: Sequence[float]) -> Estimate:
    """Median, and its interval by drawing the patterns again: another third might be held out."""
    draw = np.random.default_rng(20151119)
    drawn = draw.choice(np.array(values), (2000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
    return Estimate(float(np.median(values)), float(low), float(high))


def judged(surface: Surface) -> Judged | None:
    """Seconds relative to the default of the same replay; None where nothing can be gained."""
    ratios = ratios_of(surface)
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


@dataclass(frozen=True)
class Applied:
    """What a run without a measured answer gets: natural logarithms of what it gains."""

    name: str
    gain: float  # 0: it is left at the default
    best: float
    is_set: bool


def applied(surface: Surface, fitted: Fitted) -> Applied | None:
    """As patterndb/gains/predicted.cpp chooses; None where nothing was measured."""
    ratios = ratios_of(surface)
    texts = ["", *sorted(text for text in ratios if text)]
    found = features_of(surface.subject.pattern, surface.subject.question, texts)
    if found is None or not ratios.get(""):
        return None
    truth = true_gains([ratios[text] for text in texts])
    expected = np.array(fitted.native().gains(found[0].tolist(), found[1].tolist()))
    may = (expected[:, 4] > 0) & (expected[:, 0] >= _WORTHWHILE)
    may[0] = False
    if not may.any():
        return Applied(surface.subject.name, 0.0, max(truth), False)
    chosen = int(np.argmax(np.where(may, expected[:, 0], -np.inf)))
    return Applied(surface.subject.name, truth[chosen], max(truth), True)


@dataclass(frozen=True)
class Covered:
    """Of one pattern that the model has not seen: the share of intervals that hold, their width."""

    share: float
    width: float  # median of high over low, as a natural logarithm


def covered(rows: Rows, fitted: Fitted) -> Covered | None:
    """None where the pattern has no rows."""
    if not len(rows.log_gain):
        return None
    gains = np.array(fitted.native().gains(rows.features.tolist(), rows.default.tolist()))
    inside = (gains[:, 2] <= rows.log_gain) & (rows.log_gain <= gains[:, 3])
    return Covered(float(inside.mean()), float(np.median(gains[:, 3] - gains[:, 2])))
