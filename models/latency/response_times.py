"""How long one server takes: the sample as it is up to a threshold, and a fitted tail beyond.

This is what predictions are made from. The mixture of the paper (fitting.py) says which families
head and tail are of; a single tail that begins at the pivot misses the longest times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from iotune.models.latency.families import Array
from iotune.models.latency.tail import FAMILIES, Tail, fit_tail

from iotune.errors import Error

# A larger body is kept as so many of its points: evenly, and again finer towards its end.
_POINTS = 128


@dataclass(frozen=True)
class ResponseTimes:
    """Of `samples` response times, the fraction fractions[i] took at most seconds[i]."""

    samples: int
    fractions: tuple[float, ...]  # rising from 0; the last is 1 - tail.share, or 1 without a tail
    seconds: tuple[float, ...]  # the last is the tail's threshold
    tail: Tail | None  # None: of times beyond the longest sampled one nothing is known

    @property
    def tail_index(self) -> float:
        """P(T > t) falls as t^-index far out; infinite where it falls faster."""
        return self.tail.exponent - 1 if self.tail else math.inf

    @property
    def sampled_fraction(self) -> float:
        """Of all response times; the others would be longer than every sampled one."""
        return 1 - 1 / self.samples

    def below(self, x: Array) -> Array:
        """The fraction of response times up to each x, in seconds."""
        wanted = np.asarray(x, dtype=float)
        body = np.interp(wanted, self.seconds, self.fractions, left=0.0)
        if self.tail is None:
            return np.asarray(body)
        beyond = 1 - self.tail.share * self.tail.above(wanted)
        return np.where(wanted > self.tail.threshold_seconds, beyond, body)

    def quantile(self, fraction: Array) -> Array:
        """The response time that each fraction lies below."""
        wanted = np.asarray(fraction, dtype=float)
        body = np.interp(wanted, self.fractions, self.seconds)
        if self.tail is None:
            return np.asarray(body)
        left = np.clip((1 - wanted) / self.tail.share, 1e-300, 1)
        return np.where(left < 1, self.tail.exceeded_by(left), body)

    def text(self) -> str:
        """One sentence on what is known of the longest times."""
        if self.tail is None:
            return f"beyond the longest of {self.samples} sampled times nothing is predicted"
        return self.tail.text()


def response_times_of(seconds: Array, may_be_heavy: bool = True) -> ResponseTimes:
    """From a sorted sample of positive response times, at least two.

    `may_be_heavy`: whether the tail may be a power law.
    """
    tail = fit_tail(seconds, may_be_heavy)
    count = len(seconds)
    in_body = count if tail is None else count - tail.samples
    places = np.arange(in_body)
    if in_body > _POINTS:
        half = _POINTS // 2
        places = np.unique(
            np.concatenate(
                [np.linspace(0, in_body - 1, half), in_body - np.geomspace(1, in_body, half)]
            ).astype(int)
        )
    fractions = (places + 1) / count
    fractions[0] = 0.0
    return ResponseTimes(count, tuple(fractions.tolist()), tuple(seconds[places].tolist()), tail)


def response_times_to_dict(times: ResponseTimes) -> dict[str, Any]:
    """For JSON; response_times_from_dict() reads it."""
    return asdict(times)


def response_times_from_dict(said: Mapping[str, Any]) -> ResponseTimes:
    """Raises Error where a value is missing, no number, or out of range."""
    try:
        samples = int(said["samples"])
        fractions, seconds = (
            tuple(float(one) for one in said[name]) for name in ("fractions", "seconds")
        )
        tail = None if said["tail"] is None else _tail_from_dict(said["tail"])
        _check(samples, fractions, seconds, tail)
    except (KeyError, TypeError, ValueError) as problem:
        raise Error(f"these are no fitted response times: {problem}") from None
    return ResponseTimes(samples, fractions, seconds, tail)


def _tail_from_dict(said: Mapping[str, Any]) -> Tail:
    values = {one.name: said[one.name] for one in fields(Tail)}
    for name, value in values.items():
        if name == "family":
            continue
        numbers = [float(one) for one in value] if name.endswith("interval") else [float(value)]
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"{name} is no finite number")
        if name.endswith("interval"):
            low, high = numbers
            values[name] = (low, high)
        else:
            values[name] = numbers[0]
    tail = Tail(**{**values, "samples": int(values["samples"])})
    if tail.family not in FAMILIES:
        raise ValueError(f"a tail is {', '.join(FAMILIES)}")
    if not (0 < tail.share < 1 and tail.scale_seconds > 0 and tail.threshold_seconds > 0):
        raise ValueError("share, scale_seconds or threshold_seconds is out of range")
    return tail


def _check(
    samples: int, fractions: tuple[float, ...], seconds: tuple[float, ...], tail: Tail | None
) -> None:
    """Raise ValueError where these are no distribution."""
    if samples < 2 or len(fractions) != len(seconds) or len(seconds) < 2:
        raise ValueError("samples, fractions and seconds do not go together")
    both = np.array([fractions, seconds])
    if not (np.isfinite(both).all() and (np.diff(both) >= 0).all() and seconds[0] > 0):
        raise ValueError("fractions and seconds are positive and rise")
    end, last = (1.0, seconds[-1]) if tail is None else (1 - tail.share, tail.threshold_seconds)
    if (
        fractions[0] != 0
        or not math.isclose(fractions[-1], end)
        or not math.isclose(seconds[-1], last)
    ):
        raise ValueError("the body does not end where the tail begins")
