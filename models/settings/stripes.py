"""Stripe counts and units worth a try for a new file: from nodes, ranks, bytes and targets.

A count that is more than the targets have is overstriping: several objects of the file on each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iotune.models.settings.storage_targets import Targets

_KIB, _MIB = 1024, 1024 * 1024
# Where nothing is known of the storage. A call of a few MiB is to reach several targets at once:
# hence the short unit.
UNKNOWN_STORAGE = (
    (64, _MIB // 4), (64, _MIB), (16, _MIB), (16, 4 * _MIB), (4, _MIB),
)  # fmt: skip
# What a stripe takes of a file in a row; Lustre's least is 64 KiB.
_UNITS = (_MIB, _MIB // 4, 64 * _KIB)
_LARGE_UNIT, _LARGE_FILE = 4 * _MIB, 1 << 30
_MOST_STRIPES = 2000  # of Lustre, and of the parameter
# Objects of one file on each target that are worth a try.
_OVER = 2
# CephFS waits for one object at a time and deals them out by itself: many more pay there.
_OVER_BY_ITSELF = (4, 16)


@dataclass(frozen=True)
class Striping:
    """One choice."""

    count: int
    unit: int
    settings: dict[str, str]
    why: str


@dataclass(frozen=True)
class Bound:
    """Stripe counts that response times rule out, and what is said of it."""

    counts: frozenset[int] = frozenset()
    text: str = ""  # "not tried: 48 stripes; …"


def stripings(nodes: int, ranks: int, file_bytes: int, targets: Targets | None) -> list[Striping]:
    """The most hopeful first."""
    if targets is None or targets.count is None:
        return [_striping(count, unit, None) for count, unit in UNKNOWN_STORAGE]
    units = [(count, _units(count, file_bytes)) for count in _counts(nodes, ranks, targets)]
    # Every count with the unit that fits it best, before any with its second.
    return [
        _striping(count, fitting[place], targets)
        for place in range(len(_UNITS) + 1)
        for count, fitting in units
        if place < len(fitting)
    ]


def _counts(nodes: int, ranks: int, targets: Targets) -> Sequence[int]:
    """All targets; several times so many; as many as ranks, and as nodes, that write at a time."""
    count = targets.count or 1
    over: tuple[int, ...] = ()
    if targets.overstripes:
        over = (_OVER,) if targets.by_setting else _OVER_BY_ITSELF
    wanted = [
        count,
        *(count * times for times in over),
        min(count, max(1, ranks)),
        min(count, max(1, nodes)),
    ]
    return list(dict.fromkeys(min(one, _MOST_STRIPES) for one in wanted))


def _units(count: int, file_bytes: int) -> list[int]:
    """Units of which every stripe of the file gets one at least; the shortest, where none is."""
    fitting = [unit for unit in _UNITS if count * unit <= file_bytes][:2] or [_UNITS[-1]]
    if file_bytes >= max(_LARGE_FILE, 16 * count * _LARGE_UNIT):
        fitting.append(_LARGE_UNIT)
    return fitting


def _striping(count: int, unit: int, targets: Targets | None) -> Striping:
    settings = {"striping_factor": str(count), "striping_unit": str(unit)}
    on = f"{count} storage targets"
    if targets is not None and targets.count is not None and count > targets.count:
        if targets.by_setting:
            settings["overstriping"] = "enable"
        on = f"{count} stripes on {targets.count} storage targets"
    return Striping(count, unit, settings, f"{on}, {unit >> 10} KiB in a row on each")
