"""The rows of the report's figures: one a rank, or one for several where there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_ROWS = 64


@dataclass(frozen=True)
class RankRows:
    """Which row each process of a trace belongs to, ranks first and in their order."""

    labels: tuple[str, ...]  # one for each row: "3", "0–15", "process 2"
    row_of_process: np.ndarray  # int64 [processes]
    name_of_process: tuple[str, ...]  # "rank 3", "process 2"
    per_row: int  # processes that share a row, at most

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.labels)


def rank_rows(processes: Sequence[dict[str, Any]], most: int = MOST_ROWS) -> RankRows:
    """Rows for the processes of a trace (iotune.core.processes), at most `most`.

    Where there are more, neighbours in the order of the ranks share a row, equally many in each.
    """
    ranks = [int(one.get("rank", -1)) for one in processes]
    order = sorted(range(len(ranks)), key=lambda at: (ranks[at] < 0, ranks[at], at))
    names = tuple(f"rank {rank}" if rank >= 0 else f"process {at}" for at, rank in enumerate(ranks))
    per_row = max(1, -(-len(order) // most))
    rows = np.zeros(len(ranks), dtype=np.int64)
    labels: list[str] = []
    for first in range(0, len(order), per_row):
        shared = order[first : first + per_row]
        rows[shared] = len(labels)
        labels.append(_label([ranks[at] for at in shared], [names[at] for at in shared]))
    return RankRows(tuple(labels), rows, names, per_row)


def short_label(label: str) -> str:
    """A row's label for an axis: its first rank."""
    return label.split("–")[0].replace("process ", "p ").split(" and ")[0]


def _label(ranks: list[int], names: list[str]) -> str:
    if ranks[0] < 0:
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    own = [rank for rank in ranks if rank >= 0]
    return str(own[0]) if len(own) == 1 else f"{own[0]}–{own[-1]}"
