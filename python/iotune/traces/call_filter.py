"""Which calls are wanted, and how a user says so: ranks, layers, names, files, times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Union

# The order is recorder/call_table.h's, Layer.
LAYERS = ("hdf5", "mpiio", "stdio", "posix", "iotune")
_LAYER_WORDS = {**{name: name for name in LAYERS}, "mpi": "mpiio"}
_UNITS_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_TIME = re.compile(r"(?P<number>\d+(\.\d*)?|\.\d+)(?P<unit>s|ms|us|µs|ns)?")
_RANKS = re.compile(r"(?P<first>-?\d+)(-(?P<last>\d+))?")
_NO_TIME_NS = 2**64 - 1
_MOST_RANKS = 2**31 - 1

Ranks = Union[int, str, Iterable[int], None]
Words = Union[str, Iterable[str], None]
Time = Union[float, str, None]


@dataclass(frozen=True)
class CallFilter:
    """Of each kind any of its values, of all kinds together; empty means all."""

    ranks: tuple[tuple[int, int], ...] = ()  # both included; -1: not a rank of MPI_COMM_WORLD
    layers: tuple[str, ...] = ()  # of LAYERS
    names: tuple[str, ...] = ()  # shell patterns
    files: tuple[str, ...] = ()  # shell patterns of a path or of its end
    from_ns: int = 0  # of a call's start, after the run's first call
    until_ns: int = _NO_TIME_NS  # excluded

    @property
    def layer_mask(self) -> int:
        """The layers as the native part takes them."""
        return sum(1 << LAYERS.index(layer) for layer in self.layers)

    def __str__(self) -> str:
        parts = []
        if self.ranks:
            parts.append("rank " + ",".join(_range_text(*one) for one in self.ranks))
        parts += [f"layer {','.join(self.layers)}"] if self.layers else []
        parts += [f"call {','.join(self.names)}"] if self.names else []
        parts += [f"file {','.join(self.files)}"] if self.files else []
        parts += [f"from {self.from_ns / 1e9:g} s"] if self.from_ns else []
        parts += [f"to {self.until_ns / 1e9:g} s"] if self.until_ns != _NO_TIME_NS else []
        return ", ".join(parts)


def call_filter(
    rank: Ranks = None,
    layer: Words = None,
    call: Words = None,
    file: Words = None,
    start: Time = None,
    stop: Time = None,
) -> CallFilter:
    """A filter from what users write. Raises ValueError that names the wrong value."""
    from_ns = 0 if start is None else time_ns(start)
    until_ns = _NO_TIME_NS if stop is None else time_ns(stop)
    if from_ns > until_ns:
        raise ValueError(f"from {start} to {stop}: the end lies before the beginning")
    return CallFilter(
        ranks_of(rank),
        tuple(layer_of(one) for one in _words(layer, split=True)),
        _words(call, split=True),
        _words(file, split=False),
        from_ns,
        until_ns,
    )


def ranks_of(wanted: Ranks) -> tuple[tuple[int, int], ...]:
    """Ranges of ranks: 3, "0,3-5", [0, 3, 4, 5]."""
    if wanted is None:
        return ()
    if isinstance(wanted, str):
        return tuple(_range(part.strip(), wanted) for part in wanted.split(","))
    found = [wanted] if isinstance(wanted, int) else list(wanted)
    return tuple(_range(str(one), str(one)) for one in found)


def _range(text: str, whole: str) -> tuple[int, int]:
    match = _RANKS.fullmatch(text)
    if match is None:
        raise ValueError(f"{whole!r} is no list of ranks (0,3-5)")
    first = int(match["first"])
    last = first if match["last"] is None else int(match["last"])
    if first < -1 or last > _MOST_RANKS:
        raise ValueError(f"{whole!r}: there is no such rank")
    if last < first:
        raise ValueError(f"{whole!r}: the range {text} is empty")
    return first, last


def _range_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def layer_of(word: str) -> str:
    """A layer's name as traces have it; mpi is mpiio."""
    if word not in _LAYER_WORDS:
        raise ValueError(f"{word!r} is no layer (hdf5, mpi, posix, stdio, iotune)")
    return _LAYER_WORDS[word]


def time_ns(wanted: float | str) -> int:
    """Nanoseconds of a number of seconds, or of a text with a unit (s, ms, us, ns)."""
    if isinstance(wanted, str):
        match = _TIME.fullmatch(wanted.strip())
        if match is None:
            raise ValueError(f"{wanted!r} is no time (1.5s, 20ms, 300us, 7ns)")
        value = float(match["number"]) * _UNITS_NS[match["unit"] or "s"]
    else:
        value = wanted * 1e9
    if not math.isfinite(value) or not 0 <= value < _NO_TIME_NS:
        raise ValueError(f"{wanted!r} is no time since the run's first call")
    return min(round(value), _NO_TIME_NS)


def _words(wanted: Words, split: bool) -> tuple[str, ...]:
    given: Sequence[str] = (
        () if wanted is None else (wanted,) if isinstance(wanted, str) else tuple(wanted)
    )
    words = [part for one in given for part in (one.split(",") if split else [one])]
    if "" in words:
        raise ValueError("'' matches nothing")
    return tuple(words)
