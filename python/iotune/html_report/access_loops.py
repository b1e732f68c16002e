"""Accesses as loops: what an access map draws, however many accesses there were.

A loop is what one process did to a file in one direction in even steps. Loops that follow each
other in even steps are one loop of loops. Where a file has more of them than a map may show, those
of few accesses go first; the map's cells (offset_grid.py) have these all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_LOOPS = 1500
_HELD = 4 * MOST_LOOPS
_MOST_JOINED = 4096  # processes whose loops are gone on with from one batch to the next

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
        self._parts: list[np.ndarray] = []
        self._held = 0
        self._fewest = 1  # accesses of a loop that is kept
        # Where each process's last loop stands, by _key: the part, and the place in it.
        self._open: dict[int, tuple[int, int]] = {}

    def add(self, some: Accesses) -> None:
        """Add the next accesses of all processes."""
        self.accesses += some.offset.size
        order = np.argsort(some.process * 2 + some.write, kind="stable")
        found = _loops_of(some, order)
        found, still_open = self._gone_on_with(found)
        if self._fewest > 1:
            # The last of each process may go on in the next batch.
            last = np.append(np.diff(_key(found)) != 0, True) if found.size else np.empty(0, bool)
            found = found[(found["count"] >= self._fewest) | last]
        self._parts.append(found)
        self._held += found.size
        self._remember(found, still_open)
        if self._held > _HELD:
            self._compact()

    def loops(self) -> np.ndarray:
        """At most MOST_LOOPS of them (fields as in _FIELDS), the largest, in order of start."""
        self._compact()
        kept = np.concatenate(self._parts) if self._parts else np.empty(0, _FIELDS)
        if kept.size > MOST_LOOPS:
            weight = kept["count"] * kept["outer_count"]
            chosen = np.argsort(-weight, kind="stable")[:MOST_LOOPS]
            if weight[chosen[-1]] == weight.max():
                # All alike: evenly over all of them, not the first ones.
                chosen = np.linspace(0, kept.size - 1, MOST_LOOPS).astype(np.int64)
            kept = kept[np.sort(chosen)]
        return kept[np.argsort(kept["start"], kind="stable")]

    def _compact(self) -> None:
        if not self._parts:
            return
        kept = _folded(np.concatenate(self._parts))
        while kept.size > _HELD // 2 and self._fewest < 1 << 40:
            self._fewest *= 2
            kept = kept[kept["count"] * kept["outer_count"] >= self._fewest]
        self._parts = [kept]
        self._held = kept.size
        self._open.clear()

    def _gone_on_with(self, found: np.ndarray) -> tuple[np.ndarray, set[int]]:
        """`found` without the loops that go on with one of the batch before.

        And the keys whose last loop is still that one.
        """
        still_open: set[int] = set()
        if not self._open or not found.size:
            return found, still_open
        keys = _key(found)
        firsts = np.flatnonzero(np.append(True, np.diff(keys) != 0))
        stays = np.ones(found.size, bool)
        for at in firsts[:_MOST_JOINED].tolist():
            place = self._open.get(int(keys[at]))
            if place is None:
                continue
            old = self._parts[place[0]][place[1]]
            new = found[at]
            step = int(new["offset"] - old["offset"]) - int(old["stride"]) * (int(old["count"]) - 1)
            stride = int(old["stride"]) if old["count"] > 1 else step
            goes_on = (
                new["length"] == old["length"]
                and step == stride
                and (new["count"] == 1 or new["stride"] == stride)
            )
            if not goes_on:
                continue
            old["stride"] = stride
            old["count"] += new["count"]
            old["end"] = max(old["end"], new["end"])
            stays[at] = False
            if at + 1 == found.size or keys[at + 1] != keys[at]:
                still_open.add(int(keys[at]))
        return found[stays], still_open

    def _remember(self, found: np.ndarray, still_open: set[int]) -> None:
        self._open = {key: self._open[key] for key in still_open}
        if not found.size:
            return
        keys = _key(found)
        lasts = np.flatnonzero(np.append(np.diff(keys) != 0, True))
        part = len(self._parts) - 1
        for at in lasts[:_MOST_JOINED].tolist():
            self._open[int(keys[at])] = (part, at)


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
