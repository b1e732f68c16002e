"""The space of settings: what an exhaustive search measures and the trainer chooses from.

Values are given per parameter; combinations that mean the same are left out (an aggregator's
buffer where nothing is aggregated). Nothing here changes a file's layout or format.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from iotune.models.candidates import (
    ALIGNMENT,
    STRIPED,
    STRIPES,
    Candidate,
    Shape,
    chunk_caches,
    reserved,
    unsieved,
)

MIB = 1024 * 1024

Settings = dict[str, str]
_NONE: Settings = {}


def _each(name: str, *values: object) -> list[Settings]:
    return [_NONE, *({name: str(value)} for value in values)]


def _product(*choices: Iterable[Settings]) -> list[Settings]:
    return [
        {name: value for one in chosen for name, value in one.items()}
        for chosen in itertools.product(*choices)
    ]


def _aggregation(shape: Shape, verb: str, buffer: str) -> list[Settings]:
    """How collective transfers reach the file system."""
    two_phase, sieving = f"romio_cb_{verb}", f"romio_ds_{verb}"
    aggregators = [_NONE] + [
        # cb_nodes alone does nothing on one node: ROMIO's default list allows one a host.
        {"cb_nodes": str(count), "cb_config_list": f"*:{count}"}
        for count in (2, 4, 8)
        if count <= shape.ranks
    ]
    together = _product(
        _each(two_phase, "enable"),
        aggregators,
        _each("cb_buffer_size", 4 * MIB, 64 * MIB),
    )
    alone = _product(_each(sieving, "disable"), _each(buffer, 16 * MIB))
    by_itself = _product([_NONE, unsieved(verb)], _each(buffer, 16 * MIB))
    return (
        together
        + [{two_phase: "disable", **one} for one in alone]
        + [{"dxpl_mpio_collective_opt": "individual", **one} for one in by_itself]
    )


def _independent(verb: str, buffer: str) -> list[Settings]:
    return _product(
        [_NONE, unsieved(verb), {f"romio_ds_{verb}": "enable"}],
        _each(buffer, MIB, 4 * MIB, 16 * MIB),
    )


def _placement(shape: Shape) -> list[Settings]:
    if not shape.write:
        return [_NONE]
    alignment = _each("alignment", ALIGNMENT)
    metadata = _each("meta_block_size", MIB)
    if shape.filesystem not in STRIPED:
        # Alone: beside both others the product would be twice as large.
        reservation = reserved(shape)
        return [*_product(alignment, metadata), *([reservation] if reservation else [])]
    # Their full product would be 16 placements: where stripes are set, these two do little.
    stripes: list[Settings] = [
        {"striping_factor": str(count), "striping_unit": str(unit)} for count, unit in STRIPES
    ]
    return [_NONE, *stripes, *alignment[1:], *metadata[1:]]


def _memory(shape: Shape) -> list[Settings]:
    if shape.write:
        return _each("sieve_buf_size", 4 * MIB) if shape.ranks == 1 else [_NONE]
    if not shape.chunk:
        return _each("sieve_buf_size", MIB, 4 * MIB, 16 * MIB)
    return _each("chunk_cache", *sorted({*chunk_caches(shape), 8 * MIB, 128 * MIB}))


def space(shape: Shape) -> list[Candidate]:
    """Every point but the default, each once."""
    verb = "write" if shape.write else "read"
    buffer = "ind_wr_buffer_size" if shape.write else "ind_rd_buffer_size"
    if shape.ranks == 1:
        transfers = [_NONE]
    elif shape.collective:
        transfers = _aggregation(shape, verb, buffer)
    else:
        transfers = _independent(verb, buffer)
    points: dict[str, Candidate] = {}
    for settings in _product(transfers, _placement(shape), _memory(shape)):
        one = Candidate(settings)
        if settings:
            points.setdefault(one.text, one)
    return list(points.values())
