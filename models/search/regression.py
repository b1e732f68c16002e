"""The regression of Behzad et al., HPDC'14 and Cluster'15: m(x) = sum of beta_k phi_k(x).

phi are products of the variables, each to the power -1, 0 or 1, chosen by forward selection and
fitted to the least times of the runs so far. All candidates are ranked by the model, and its best
20 are run again.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
from iotune.models.search.interface import Point, Problem, Search
from numpy.typing import NDArray

CHOSEN = 20  # of the model's ranking
TRAINING = 96  # runs before the model is fitted; the paper had 96 to 336
_MOST_TERMS = 8
_FEWEST_PER_TERM = 4  # training runs for each term of the model
_MOST_VARIABLES_IN_A_TERM = 3

Array = NDArray[np.float64]


def variables_of(points: Sequence[Point], values: dict[str, list[str]]) -> Array:
    """One row a candidate, one column a parameter: positive numbers.

    A number is itself, a word its place among the parameter's values, what is not set 1. A pair
    ("threshold,boundary") is its last number.
    """
    rows = []
    for point in points:
        row = []
        for name, known in values.items():
            value = point.get(name)
            row.append(1.0 if value is None else _number(value, known))
        rows.append(row)
    return np.array(rows, dtype=float).reshape(len(points), len(values))


def _number(value: str, known: Sequence[str]) -> float:
    try:
        return max(float(value.split(",")[-1]), 1.0) + 1.0
    except ValueError:
        return known.index(value) + 2.0


def terms_of(count: int) -> list[tuple[int, ...]]:
    """The exponents of every product of up to three variables, each to the power -1 or 1."""
    found: list[tuple[int, ...]] = [(0,) * count]
    for size in range(1, min(count, _MOST_VARIABLES_IN_A_TERM) + 1):
        for chosen in itertools.combinations(range(count), size):
            for powers in itertools.product((-1, 1), repeat=size):
                exponents = [0] * count
                for variable, power in zip(chosen, powers):
                    exponents[variable] = power
                found.append(tuple(exponents))
    return found


def forward_selection(columns: Array, times: Array, most: int) -> tuple[list[int], Array]:
    """Columns that describe the times, chosen one by one, and their coefficients.

    The constant (column 0) is always there. It ends where no column lowers Akaike's criterion,
    corrected for few samples.
    """
    chosen = [0]
    coefficients, best = _fitted(columns[:, chosen], times)
    while len(chosen) < most:
        found: tuple[float, int, Array] | None = None
        for column in range(1, columns.shape[1]):
            if column in chosen:
                continue
            tried, score = _fitted(columns[:, [*chosen, column]], times)
            if found is None or score < found[0]:
                found = (score, column, tried)
        if found is None or found[0] >= best - 1e-9:
            break
        best, column, coefficients = found
        chosen.append(column)
    return chosen, coefficients


def _fitted(columns: Array, times: Array) -> tuple[Array, float]:
    coefficients, *_ = np.linalg.lstsq(columns, times, rcond=None)
    n, k = columns.shape
    residual = float(np.sum((times - columns @ coefficients) ** 2))
    score: float = n * math.log(max(residual / n, 1e-300)) + 2 * k
    if n - k - 1 > 0:
        score += 2 * k * (k + 1) / (n - k - 1)
    else:
        score = math.inf
    return np.asarray(coefficients, dtype=np.float64), score


class RegressionSearch(Search):
    """Drawn candidates first, then those that the model ranks best."""

    def __init__(self, problem: Problem, seed: int, training: int = TRAINING):
        super().__init__(problem, seed)
        count = len(problem.points)
        # A small space is not to be used up before the model has a say.
        self._training = min(training, max(4, count // 2))
        self._drawn = random.Random(seed).sample(range(count), min(self._training, count))
        self._ranked: list[int] | None = None
        values = problem.values()
        variables = variables_of(problem.points, values)
        logs = np.log(variables)
        self._columns = np.exp(logs @ np.array(terms_of(len(values)), dtype=float).T)
        scale = np.abs(self._columns).max(axis=0)
        self._columns = self._columns / np.where(scale > 0, scale, 1.0)

    def next(self) -> int | None:
        """A drawn candidate, then the model's best."""
        if self._drawn:
            return self._drawn.pop(0)
        if self._ranked is None:
            self._ranked = self._rank()[:CHOSEN]
        return self._ranked.pop(0) if self._ranked else None

    def _rank(self) -> list[int]:
        known = sorted(self.seconds)
        if not known:
            return []
        times = np.array([min(self.seconds[one]) for one in known])
        most = max(1, min(_MOST_TERMS, len(known) // _FEWEST_PER_TERM))
        chosen, coefficients = forward_selection(self._columns[known], times, most)
        predicted = self._columns[:, chosen] @ coefficients
        order = sorted(range(len(predicted)), key=lambda one: (predicted[one], one))
        return [one for one in order if one not in self.failed]
