"""Fit a gain model to trials: prices of the cost model, trees on what it leaves, an interval.

Intervals are calibrated by patterns that were left out (calibrate.py): how far the answer for a
pattern lies off that no tree has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from iotune.models.gains.calibrate import calibrated
from iotune.models.gains.encode import Intervals, encoded
from iotune.models.gains.mechanism import Array, fit_prices
from iotune.models.gains.prior import DEFAULT_NOISE
from iotune.models.gains.rows import Rows
from numpy.typing import NDArray

from iotune import core
from iotune.errors import Error

_TREES = 48
_MOST_LEAVES = 128
_FOLDS = 10
FEWEST_PATTERNS = 8


@dataclass
class Fitted:
    """A model, and how well it does on patterns that it was not fitted to."""

    prices: Array
    forest: Any  # scikit-learn's
    ranges: Array
    intervals: Intervals
    score: dict[str, float]

    @property
    def payload(self) -> bytes:
        """What a run evaluates."""
        trees = [one.tree_ for one in self.forest.estimators_]
        return encoded(self.prices, self.ranges, self.intervals, trees)

    def native(self) -> core.GainModel:
        """The very model that a run has."""
        return core.GainModel(self.payload)


def fit(rows: Rows, seed: int = 20151116) -> Fitted:
    """Raises Error where there are too few patterns to say how good it is."""
    groups = np.unique(rows.group)
    if len(groups) < FEWEST_PATTERNS:
        raise Error(
            f"a model needs {FEWEST_PATTERNS} measured patterns at least, there are {len(groups)}: "
            "iotune train --survey measures more"
        )
    left_out = _left_out(rows, groups, seed)
    intervals = calibrated(rows, left_out)
    prices, forest = _grown(rows, seed)
    own = core.pattern_feature_count()
    of_pattern = rows.default[:, :own]
    ranges = np.column_stack([of_pattern.min(axis=0), of_pattern.max(axis=0)])
    score = _score(rows, left_out)
    score["noise"] = noise_of(rows)
    score["patterns"], score["rows"] = float(len(groups)), float(len(rows.log_gain))
    return Fitted(prices, forest, ranges, intervals, score)


def noise_of(rows: Rows) -> float:
    """Standard deviation of the logarithm of one time, of the median pattern."""
    found = []
    for group in np.unique(rows.group):
        spreads = rows.spread[(rows.group == group) & np.isfinite(rows.spread)]
        if len(spreads):
            found.append(float(np.sqrt(np.mean(spreads**2))))
    return float(np.median(found)) if found else DEFAULT_NOISE


def _grown(rows: Rows, seed: int) -> tuple[Array, Any]:
    from sklearn.ensemble import ExtraTreesRegressor

    weight = rows.weight
    seconds = rows.default_seconds * np.exp(-rows.log_gain)
    # The defaults are rows as well, of no gain.
    prices = fit_prices(rows.features, seconds, weight)
    inputs = np.array(
        core.gain_inputs(rows.features.tolist(), rows.default.tolist(), prices.tolist())
    )
    forest = ExtraTreesRegressor(
        _TREES, min_samples_leaf=2, max_features=0.5, max_leaf_nodes=_MOST_LEAVES,
        bootstrap=True, random_state=seed, n_jobs=1,
    )  # fmt: skip
    forest.fit(inputs, rows.log_gain - inputs[:, -1], sample_weight=weight)
    return prices, forest


def _left_out(rows: Rows, groups: NDArray[np.int64], seed: int) -> Array:
    """Of each row, by a model that has not seen its pattern: mean, spread, the cost model's own."""
    folds = min(_FOLDS, len(groups))
    fold_of = np.random.default_rng(seed).permutation(len(groups)) % folds
    found = np.zeros((len(rows.log_gain), 3))
    for fold in range(folds):
        out = np.isin(rows.group, groups[fold_of == fold])
        prices, forest = _grown(rows.of(~out), seed)
        inputs = np.array(
            core.gain_inputs(rows.features[out].tolist(), rows.default[out].tolist(),
                             prices.tolist())
        )  # fmt: skip
        of_trees = np.array([one.predict(inputs) for one in forest.estimators_])
        found[out, 0] = inputs[:, -1] + of_trees.mean(axis=0)
        found[out, 1] = of_trees.std(axis=0)
        found[out, 2] = inputs[:, -1]
    return found


def _score(rows: Rows, left_out: Array) -> dict[str, float]:
    """What a user of the first prediction would have got, over patterns that were left out."""
    shares, gains = [], []
    for group in np.unique(rows.group):
        of = rows.group == group
        best = max(0.0, float(rows.log_gain[of].max()))
        chosen = int(np.argmax(left_out[of, 0]))
        predicted = left_out[of, 0][chosen] > 0
        got = float(rows.log_gain[of][chosen]) if predicted else 0.0
        gains.append(got)
        if best >= np.log(1.3):
            shares.append(np.exp(got - best))
    off = rows.log_gain - left_out[:, 0]
    return {
        "error": float(np.sqrt(np.average(off**2, weights=rows.weight))),
        "first_over_best": float(np.median(shares)) if shares else float("nan"),
        "worst_gain": float(np.exp(min(gains))),
        "patterns_to_gain": float(len(shares)),
    }
