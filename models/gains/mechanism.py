"""A simple cost model: seconds of a file as a sum of counts, each with a price of the platform.

The counts are native (patterndb/gains/cost_terms.h), of the busiest process: calls, system calls,
bytes that they move, bytes and rounds of an exchange. Prices are fitted so that relative errors
are least, and none is negative. It says little about one pattern and nothing absurd, so what
trees add to it is less than what they would have to learn alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from iotune import core

Array = NDArray[np.float64]


def fit_prices(features: Array, seconds: Array, weight: Array) -> Array:
    """Seconds of one unit of each cost term. Shapes: (rows, features), (rows,), (rows,).

    Non-negative least squares of the relative error; `weight` of each row.
    """
    terms = np.array(core.cost_terms(features.tolist()))
    root = np.sqrt(weight)[:, None]
    rows = terms / seconds[:, None] * root
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0] = 1.0
    prices, _ = nnls(rows / scale, root[:, 0], maxiter=1000)
    return np.asarray(prices / scale)
