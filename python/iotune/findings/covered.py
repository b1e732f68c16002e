"""How many different bytes many accesses touch, in memory that does not grow with them."""

from __future__ import annotations

from typing import Any

import numpy as np

_PENDING = 1 << 17  # accesses between two unions
MOST_PIECES = 1 << 20  # of a union; beyond it is given up: the bytes are scattered too widely


class Covered:
    """The union of extents. `bytes` is None where it had more than MOST_PIECES pieces."""

    def __init__(self) -> None:
        self._begins: list[Any] = []
        self._ends: list[Any] = []
        self._pending = 0
        self._overflowed = False

    def add(self, offsets: Any, lengths: Any) -> None:
        """Add accesses: arrays of int64, in bytes."""
        if self._overflowed:
            return
        self._begins.append(offsets)
        self._ends.append(offsets + lengths)
        self._pending += len(offsets)
        if self._pending > _PENDING:
            self._unite()

    def pieces(self) -> tuple[Any, Any]:
        """Begins and ends of the union, rising, none touching the next."""
        self._unite()
        if not self._begins:
            empty = np.empty(0, dtype=np.int64)
            return empty, empty
        return self._begins[0], self._ends[0]

    @property
    def bytes(self) -> int | None:
        """How many bytes the union has."""
        begins, ends = self.pieces()
        return None if self._overflowed else int((ends - begins).sum())

    def _unite(self) -> None:
        self._pending = 0
        if len(self._begins) < 2 and (not self._begins or len(self._begins[0]) < 2):
            return
        begins, ends = np.concatenate(self._begins), np.concatenate(self._ends)
        order = np.argsort(begins, kind="stable")
        begins, reach = begins[order], np.maximum.accumulate(ends[order])
        first = np.flatnonzero(np.r_[True, begins[1:] > reach[:-1]])
        self._begins = [begins[first]]
        self._ends = [reach[np.r_[first[1:] - 1, len(reach) - 1]]]
        if len(first) > MOST_PIECES:
            self._overflowed = True
            self._begins, self._ends = [], []
