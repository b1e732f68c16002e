"""Accesses as loops: what an access map draws, however many accesses there were.

A loop is what one process did to a file in one direction in even steps. Loops that follow each
other in even steps are one loop of loops. Where a file has more of them than a map may show, those
of few accesses go first; the map's cells (offset_grid.py) have these all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_LOOPS = 1500
FEWEST_IN_LOOP = 3  # two accesses have a distance, but are no loop yet
_HELD = 4 * MOST_LOOPS

_FIELDS = np.dtype(
    [
        ("process", np.int64),
        ("write", np.int64),
        ("start", np.float64),  # seconds
        ("end", np.float64),
        ("offset", np.int64),
        ("length", np.int64),
        ("stride", np.int64),
        ("count", np.int64),
        ("outer_stride", np.int64),
        ("outer_count", np.int64),
    ]
)


@dataclass
class Accesses:
    """Columns of some accesses of one file, in the order of their starts."""

    process: np.ndarray
    write: np.ndarray  # 0 or 1
    start: np.ndarray  # seconds
    end: np.ndarray
    offset: np.ndarray  # bytes
    length: np.ndarray


class AccessLoops:
    """The loops of one file."""

    def __init__(self) -> None:
        self.accesses = 0
        self._steady = np.zeros(2, np.int64)  # loops that were closed, and their accesses
        self._closed: list[np.ndarray] = []
        self._held = 0  # in _closed
        self._fewest = 1  # accesses of a loop that is kept
        # The last loop of each process and direction, in the order of _key: it may go on.
        self._open = np.empty(0, _FIELDS)

    def add(self, some: Accesses) -> None:
        """Add the next accesses of all processes."""
        self.accesses += some.offset.size
        order = np.argsort(some.process * 2 + some.write, kind="stable")
        found = self._gone_on_with(_loops_of(some, order))
        last = np.append(np.diff(_key(found)) != 0, True)
        self._close(found[~last])
        stays = self._open[~np.isin(_key(self._open), _key(found))]
        self._open = np.concatenate([stays, found[last]])
        self._open = self._open[np.argsort(_key(self._open), kind="stable")]
        if self._held > _HELD:
            self._compact()

    def loops(self) -> np.ndarray:
        """At most MOST_LOOPS of them (fields as in _FIELDS), the largest, in order of start."""
        kept = _folded(np.concatenate([*self._closed, self._open]))
        if kept.size > MOST_LOOPS:
            weight = kept["count"] * kept["outer_count"]
            chosen = np.argsort(-weight, kind="stable")[:MOST_LOOPS]
            if weight[chosen[-1]] == weight.max():
                # All alike: evenly over all of them, not the first ones.
                chosen = np.linspace(0, kept.size - 1, MOST_LOOPS).astype(np.int64)
            kept = kept[np.sort(chosen)]
        return kept[np.argsort(kept["start"], kind="stable")]

    @property
    def steady(self) -> tuple[int, int]:
        """How many loops of some accesses there were, shown or not, and their accesses."""
        loops, accesses = self._steady + _steady(self._open)
        return int(loops), int(accesses)

    def _close(self, loops: np.ndarray) -> None:
        self._steady += _steady(loops)
        loops = loops[loops["count"] >= self._fewest]
        self._closed.append(loops)
        self._held += loops.size

    def _compact(self) -> None:
        kept = _folded(np.concatenate(self._closed))
        while kept.size > _HELD // 2:
            self._fewest *= 2
            kept = kept[kept["count"] * kept["outer_count"] >= self._fewest]
        self._closed = [kept]
        self._held = kept.size

    def _gone_on_with(self, found: np.ndarray) -> np.ndarray:
        """`found`, of which the first of a process goes on with its open loop where that fits.

        Open loops that nothing goes on with, of processes that have new ones, are closed.
        """
        keys, open_keys = _key(found), _key(self._open)
        first = np.flatnonzero(np.append(True, np.diff(keys) != 0))
        place = np.searchsorted(open_keys, keys[first])
        place[place == open_keys.size] = 0
        known = np.zeros(first.size, bool)
        if open_keys.size:
            known = open_keys[place] == keys[first]
        first, place = first[known], place[known]
        old, new = self._open[place], found[first]
        step = new["offset"] - old["offset"] - old["stride"] * (old["count"] - 1)
        stride = np.where(old["count"] > 1, old["stride"], step)
        fits = (new["length"] == old["length"]) & (step == stride)
        fits &= (new["count"] == 1) | (new["stride"] == stride)
        joined = old.copy()
        joined["stride"] = stride
        joined["count"] += new["count"]
        joined["end"] = np.maximum(old["end"], new["end"])
        found[first[fits]] = joined[fits]
        self._close(old[~fits])
        return found


def _steady(loops: np.ndarray) -> np.ndarray:
    counts = loops["count"][loops["count"] >= FEWEST_IN_LOOP]
    return np.array([counts.size, counts.sum()], np.int64)


def _key(loops: np.ndarray) -> np.ndarray:
    return np.asarray(loops["process"] * 2 + loops["write"])


def _breaks(values: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Where runs of even steps begin, of values in order; `hard`: where one must begin.

    A run's second value sets its step, so that no run begins behind a first one but a hard one.
    """
    size = values.size
    step = np.diff(values, prepend=values[:1])
    change = np.empty(size, bool)
    change[:1] = True
    change[1:] = step[1:] != step[:-1]
    change |= hard
    # Of changes in a row every second one, counted from the first or the last hard one.
    begins = change & ~np.append(False, change[:-1])
    begins |= hard
    index = np.arange(size)
    since = index - np.maximum.accumulate(np.where(begins, index, 0))
    return np.asarray(hard | (change & (since % 2 == 0)))


def _loops_of(some: Accesses, order: np.ndarray) -> np.ndarray:
    process, write = some.process[order], some.write[order]
    offset, length = some.offset[order], some.length[order]
    key = process * 2 + write
    hard = np.ones(offset.size, bool)
    hard[1:] = (key[1:] != key[:-1]) | (length[1:] != length[:-1])
    first = np.flatnonzero(_breaks(offset, hard))
    last = np.append(first[1:], offset.size) - 1
    found = np.zeros(first.size, _FIELDS)
    found["process"], found["write"] = process[first], write[first]
    found["start"], found["end"] = some.start[order][first], some.end[order][last]
    found["offset"], found["length"] = offset[first], length[first]
    found["count"] = last - first + 1
    second = np.minimum(first + 1, last)
    found["stride"] = offset[second] - offset[first]
    found["outer_count"] = 1
    return found


def _folded(loops: np.ndarray) -> np.ndarray:
    """Loops of which some follow each other in even steps as loops of loops."""
    if loops.size < 3:
        return loops
    loops = loops[np.lexsort((loops["start"], _key(loops)))]
    hard = np.ones(loops.size, bool)
    same = np.ones(loops.size - 1, bool)
    for name in ("process", "write", "length", "stride", "count"):
        same &= loops[name][1:] == loops[name][:-1]
    plain = loops["outer_count"] == 1
    # Single accesses are no loops: pairs of them would look like one.
    hard[1:] = ~(same & plain[1:] & plain[:-1] & (loops["count"][1:] > 1))
    first = np.flatnonzero(_breaks(loops["offset"], hard))
    last = np.append(first[1:], loops.size) - 1
    outer = last - first + 1
    together = outer > 2
    folded = loops[first[together]].copy()
    folded["outer_count"] = outer[together]
    folded["outer_stride"] = loops["offset"][first[together] + 1] - folded["offset"]
    folded["end"] = loops["end"][last[together]]
    alone = np.ones(loops.size, bool)
    for begin, end in zip(first[together].tolist(), last[together].tolist()):
        alone[begin : end + 1] = False
    return np.concatenate([loops[alone], folded])
