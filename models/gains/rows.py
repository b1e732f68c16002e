"""Rows that models learn from: features of surfaces, and what each setting was worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from iotune.models.gains.mechanism import Array
from iotune.models.survey.trials import Surface
from numpy.typing import NDArray

from iotune import core

_FEWEST_ALIKE = 4  # settings that change nothing, to say that the default had ill luck


def settings_of(text: str) -> dict[str, str]:
    """Of canonical text; the default's is empty."""
    return dict(part.split("=", 1) for part in text.split(";") if part)


@dataclass(frozen=True)
class Rows:
    """One row for each (pattern, settings): `log_gain` is the logarithm of default over seconds."""

    names: list[str]  # of the features
    features: Array  # under the settings
    default: Array  # of the same pattern without settings
    log_gain: Array
    spread: Array  # of log_gain between repeats; nan where there is one alone
    repeats: NDArray[np.int64]
    default_seconds: Array
    group: NDArray[np.int64]  # number of the surface
    settings: list[str]

    def of(self, chosen: NDArray[np.bool_]) -> Rows:
        """Those that are chosen."""
        return Rows(
            self.names, self.features[chosen], self.default[chosen], self.log_gain[chosen],
            self.spread[chosen], self.repeats[chosen], self.default_seconds[chosen],
            self.group[chosen], [one for one, use in zip(self.settings, chosen) if use],
        )  # fmt: skip

    @property
    def weight(self) -> Array:
        """Every surface counts the same, however many settings were tried."""
        _, at, counts = np.unique(self.group, return_inverse=True, return_counts=True)
        return np.asarray(1.0 / counts[at])


def features_of(
    pattern: Mapping[str, object], question: Mapping[str, int], settings: Sequence[str]
) -> tuple[Array, Array] | None:
    """Features under each settings and those of the default; None for a pattern without any."""
    found = core.features(
        dict(pattern), [{}, *(settings_of(one) for one in settings)], dict(question)
    )
    if found is None:
        return None
    rows = np.array(found, dtype=float)
    return rows[1:], np.repeat(rows[:1], len(settings), axis=0)


def counts_alike(found: tuple[Array, Array]) -> NDArray[np.bool_]:
    """Of features_of(): settings that leave all counts of the cost model as the default's are."""
    under, without = (np.array(core.cost_terms(one.tolist())) for one in found)
    return np.asarray(np.all(np.isclose(under, without), axis=1))


def luck_of_default(found: tuple[Array, Array], log_gains: Array) -> float:
    """How much too slow a surface's default was by ill luck, as a gain's logarithm; 0: it was not.

    A setting that leaves all counts of the cost model as they are is the default once more. Where
    the median of these is faster, a replay met a stall or a cold cache while it ran the default:
    then every setting seems to gain. That they are slower is no luck: to set costs some time, too.

    `found`: features_of(); `log_gains`: of the same settings.
    """
    alike = counts_alike(found)
    if alike.sum() < _FEWEST_ALIKE:
        return 0.0
    return max(0.0, float(np.median(log_gains[alike])))


def rows_of(surfaces: Sequence[Surface]) -> Rows:
    """All that was measured; patterns without features are left out."""
    parts: list[tuple[Array, Array]] = []
    gains, spreads, repeats, seconds, groups, texts = [], [], [], [], [], []
    for number, surface in enumerate(surfaces):
        ratios = {text: one for text, one in surface.ratios().items() if text}
        if not ratios:
            continue
        found = features_of(surface.subject.pattern, surface.subject.question, list(ratios))
        if found is None:
            continue
        parts.append(found)
        of_default = median(x for one in surface.trials for x in one.default_seconds)
        of_surface = np.array([np.median(np.log(times)) for times in ratios.values()])
        of_surface -= luck_of_default(found, of_surface)
        gains += of_surface.tolist()
        for text, times in ratios.items():
            logs = np.log(times)
            spreads.append(float(np.std(logs, ddof=1)) if len(times) > 1 else np.nan)
            repeats.append(len(times))
            seconds.append(of_default)
            groups.append(number)
            texts.append(text)
    names = core.feature_names()
    empty = np.empty((0, len(names)))
    return Rows(
        names,
        np.vstack([one for one, _ in parts]) if parts else empty,
        np.vstack([one for _, one in parts]) if parts else empty,
        np.array(gains), np.array(spreads), np.array(repeats, dtype=np.int64), np.array(seconds),
        np.array(groups, dtype=np.int64), texts,
    )  # fmt: skip
