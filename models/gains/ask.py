"""Ask a model about a pattern: `iotune predict`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from iotune.models.cases import distributions
from iotune.models.gains.rows import features_of, settings_of
from iotune.models.gains.stored_model import StoredModel
from iotune.models.survey.trials import Surface

from iotune import core
from iotune.errors import Error

_NEAREST = 3


@dataclass(frozen=True)
class Prediction:
    """How many times faster than the default a file is under settings."""

    settings: str
    gain: float
    low: float
    high: float
    sure: float  # the lower bound where it was chosen among many: what a run goes by


@dataclass(frozen=True)
class Neighbour:
    """A measured pattern near the one that was asked about."""

    pattern: Mapping[str, Any]
    distance: float  # doublings, over all features of the pattern
    best: str  # the best of what was measured of it
    best_gain: float


def pattern_of(
    descriptor: str, ranks: int, write: bool, element_bytes: int, collective: bool,
    grid: Sequence[int] = (), dims: Sequence[int] = (), chunk: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """A pattern as the database has it. Raises Error where ranks and distributions do not fit.

    Of a single distributed dimension the grid is known; of several it is as MPI_Dims_create makes
    it, or `grid`. The dataset has what all ranks hold together, or `dims`.
    """
    names, counts = distributions(descriptor)
    if any(one == "IRREGULAR" for one in names):
        raise Error(f"{descriptor} is irregular: nothing is predicted of such patterns")
    if not grid:
        grid = _grid(names, ranks)
    if len(grid) != len(names) or math.prod(grid) != ranks:
        raise Error(
            f"the process grid {'x'.join(map(str, grid))} does not hold {ranks} ranks in "
            f"{len(names)} dimensions"
        )
    for name, parts in zip(names, grid):
        if name == "*" and parts > 1:
            raise Error(f"a dimension that is not distributed (*) has {parts} parts in the grid")
    if not dims:
        dims = [count * parts for count, parts in zip(counts, grid)]
    if len(dims) != len(names) or any(one < count for one, count in zip(dims, counts)):
        raise Error(f"a dataset of {'x'.join(map(str, dims))} does not hold {descriptor}")
    return {
        "descriptor": descriptor, "op": "write" if write else "read",
        "element_bytes": element_bytes, "ranks": ranks, "grid": list(grid),
        "mode": "collective" if collective and ranks > 1 else "independent",
        "chunk": list(chunk), "filters": 0, "dataset_dims": list(dims),
    }  # fmt: skip


def _grid(names: Sequence[str], ranks: int) -> list[int]:
    grid = [1] * len(names)
    spread = [at for at, name in enumerate(names) if name != "*"]
    if not spread:
        if ranks > 1:
            raise Error(f"no dimension is distributed, so {ranks} ranks would do the same: 1 rank")
        return grid
    factors, left, factor = [], ranks, 2
    while left > 1:
        while left % factor:
            factor += 1
        factors.append(factor)
        left //= factor
    for one in reversed(factors):
        grid[min(spread, key=lambda at: grid[at])] *= one
    return grid


def predictions(
    model: StoredModel, pattern: Mapping[str, Any], question: Mapping[str, int]
) -> list[Prediction]:  # fmt: skip
    """Of every candidate of the model, the greatest expected gain first.

    Raises Error where nothing at all can be said of the pattern.
    """
    texts = [one for one in model.candidates if _fits(one, pattern)]
    found = features_of(pattern, question, texts) if texts else None
    if found is None:
        raise Error("the pattern has no features that a model could know")
    features, default = found
    gains = np.exp(np.array(model.model.gains(features.tolist(), default.tolist())))
    rows = [
        Prediction(text, float(one[0]), float(one[2]), float(one[3]), float(one[4]))
        for text, one in zip(texts, gains)
    ]
    return sorted(rows, key=lambda one: -one.gain)


def _fits(text: str, pattern: Mapping[str, Any]) -> bool:
    settings = settings_of(text)
    if int(settings.get("cb_nodes", 1)) > int(pattern["ranks"]):
        return False
    return pattern["op"] == "write" or not any(name.startswith("striping") for name in settings)


def outside_of(
    model: StoredModel, pattern: Mapping[str, Any], question: Mapping[str, int],
    surfaces: Sequence[Surface],
) -> str:  # fmt: skip
    """Where the pattern lies outside of what was measured, in words; empty: it does not."""
    found = features_of(pattern, question, [""])
    name = model.model.out_of_range(found[1][0].tolist()) if found is not None else ""
    if found is None or not name:
        return ""
    asked = found[1][0]
    at = core.feature_names().index(name)
    known = [_default_features(one) for one in surfaces]
    values = sorted({float(row[at]) for row in known if row is not None})
    if name.startswith("is_"):
        was = "yes" if values and values[0] else "no"
        return f"{name[3:].replace('_', ' ')} was always '{was}' in what was measured"
    words = name.removeprefix("log2_").replace("_", " ")
    low, high = (2 ** values[0], 2 ** values[-1]) if values else (0.0, 0.0)
    return f"{words} is {2 ** asked[at]:.6g}, and what was measured has {low:.6g} to {high:.6g}"


def _default_features(surface: Surface) -> np.ndarray | None:
    found = features_of(surface.subject.pattern, surface.subject.question, [""])
    return None if found is None else np.asarray(found[1][0])


def neighbours(
    pattern: Mapping[str, Any], question: Mapping[str, int], surfaces: Sequence[Surface]
) -> list[Neighbour]:
    """The measured patterns nearest to this one: what a prediction rests on."""
    own = core.pattern_feature_count()
    asked = features_of(pattern, question, [""])
    if asked is None:
        return []
    found = []
    for surface in surfaces:
        features = _default_features(surface)
        ratios = {text: float(np.median(one)) for text, one in surface.ratios().items()}
        if features is None or not ratios:
            continue
        distance = float(np.linalg.norm(features[:own] - asked[1][0][:own]))
        best = max(ratios, key=lambda text: ratios[text])
        found.append(Neighbour(surface.subject.pattern, distance, best, ratios[best]))
    return sorted(found, key=lambda one: one.distance)[:_NEAREST]
