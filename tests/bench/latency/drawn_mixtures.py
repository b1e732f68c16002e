"""Samples of response times of a known distribution: a normal head, and a tail of any family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HEAD_MEAN, HEAD_DEVIATION = 1.0, 0.1
PIVOT = 1.3
TAIL_SHARE = 0.146  # PDSW'15, figure 5: the mean over its samples
EXPONENT = 3.0
JITTER = 1 / 15
TAILS = ("power law", "log-normal", "Weibull", "gamma", "exponential")


def draw(random: np.random.Generator, count: int, tail: str, pivot: float = PIVOT) -> NDArray:
    """`count` response times in seconds; the tail above the pivot is of the named family."""
    in_tail = int(random.binomial(count, TAIL_SHARE))
    head = random.normal(HEAD_MEAN, HEAD_DEVIATION, 4 * count)
    head = head[(head > 0) & (head < pivot)][: count - in_tail]
    return np.concatenate([head, _tail(random, in_tail, tail, pivot)])


def _tail(random: np.random.Generator, count: int, tail: str, pivot: float) -> NDArray:
    if tail == "power law":
        return pivot * (1 - random.random(count)) ** (-1 / (EXPONENT - 1))
    if tail == "exponential":
        return pivot + random.exponential(0.5, count)
    drawn = {
        "log-normal": lambda: random.lognormal(0.5, 0.6, 20 * count),
        "Weibull": lambda: 0.3 * random.weibull(0.6, 100 * count),
        "gamma": lambda: random.gamma(4, 0.4, 20 * count),
    }[tail]()
    return drawn[drawn >= pivot][:count]


def draw_request(
    random: np.random.Generator, count: int, share: float, exponent: float, base_seconds: float
) -> NDArray:
    """As requests through a mount with --latency-tail: a share is longer by a power law.

    To each a jitter is added, JITTER of the base in the mean.
    """
    is_longer = random.random(count) < share
    jitter = random.gamma(2, base_seconds * JITTER / 2, count)
    return base_seconds * np.where(is_longer, _factors(random, count, exponent), 1.0) + jitter


def draw_normal_head(
    random: np.random.Generator, count: int, share: float, exponent: float
) -> NDArray:
    """A normal head below PIVOT, and a share beyond it by a power law."""
    is_longer = random.random(count) < share
    head = random.normal(HEAD_MEAN, HEAD_DEVIATION, count)
    head = np.where((head > 0) & (head < PIVOT), head, HEAD_MEAN)
    return np.where(is_longer, PIVOT * _factors(random, count, exponent), head)


def _factors(random: np.random.Generator, count: int, exponent: float) -> NDArray:
    """By how much requests are longer; 1 at least."""
    return (1 - random.random(count)) ** (-1 / (exponent - 1))
