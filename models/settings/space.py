"""The space of settings: what an exhaustive search measures and the trainer chooses from.

Values are given per parameter; combinations that mean the same are left out (an aggregator's
buffer where nothing is aggregated). Nothing here changes a file's layout or format.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from iotune.models.settings.candidates import (
    ALIGNMENT,
    STRIPED,
    Candidate,
    Shape,
    chunk_caches,
    metadata_caches,
    page_buffers,
    reserved,
    stripings_of,
    unsieved,
)
from iotune.models.settings.own_hints import own_hints

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


@dataclass(frozen=True)
class _Values:
    """Of parameters that are numbers."""

    aggregators: tuple[int, ...] = (2, 4, 8)
    exchange_bytes: tuple[int, ...] = (4 * MIB, 64 * MIB)
    sieve_bytes: tuple[int, ...] = (16 * MIB,)
    independent_sieve_bytes: tuple[int, ...] = (MIB, 4 * MIB, 16 * MIB)
    # Where the storage's targets are not known; empty: those of the trainer.
    stripes: tuple[tuple[int, int], ...] = ()
    alignments: tuple[str, ...] = (ALIGNMENT,)
    metadata_bytes: tuple[int, ...] = (MIB,)
    with_stripes: bool = False  # alignment and metadata beside stripes too


_SPARSE = _Values()
_DENSE = _Values(
    aggregators=(2, 3, 4, 6, 8, 16),
    exchange_bytes=(MIB, 2 * MIB, 4 * MIB, 8 * MIB, 32 * MIB, 64 * MIB),
    sieve_bytes=(64 * 1024, MIB, 4 * MIB, 16 * MIB, 64 * MIB),
    independent_sieve_bytes=(64 * 1024, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB),
    stripes=tuple(
        (count, unit) for count in (2, 4, 8, 16, 64) for unit in (MIB // 4, MIB, 4 * MIB)
    ),
    alignments=(ALIGNMENT, f"{4 * MIB},{4 * MIB}"),
    metadata_bytes=(64 * 1024, MIB),
    with_stripes=True,
)


def _aggregation(shape: Shape, verb: str, buffer: str, values: _Values) -> list[Settings]:
    """How collective transfers reach the file system."""
    two_phase, sieving = f"romio_cb_{verb}", f"romio_ds_{verb}"
    aggregators = [_NONE] + [
        # cb_nodes alone does nothing on one node: ROMIO's default list allows one a host.
        {"cb_nodes": str(count), "cb_config_list": f"*:{count}"}
        for count in values.aggregators
        if count <= shape.ranks
    ]
    aggregated = _product(
        _each(two_phase, "enable"),
        aggregators,
        _each("cb_buffer_size", *values.exchange_bytes),
    )
    not_aggregated = _product(_each(sieving, "disable"), _each(buffer, *values.sieve_bytes))
    by_itself = _product([_NONE, unsieved(verb)], _each(buffer, *values.sieve_bytes))
    own = [settings for settings, _ in own_hints(shape)]
    return (
        aggregated
        + own
        + [{two_phase: "disable", **one} for one in not_aggregated]
        + [{"dxpl_mpio_collective_opt": "individual", **one} for one in by_itself]
    )


def _independent(verb: str, buffer: str, values: _Values) -> list[Settings]:
    return _product(
        [_NONE, unsieved(verb), {f"romio_ds_{verb}": "enable"}],
        _each(buffer, *values.independent_sieve_bytes),
    )


def _placement(shape: Shape, values: _Values) -> list[Settings]:
    if not shape.write:
        return [_NONE]
    alignment = _each("alignment", *values.alignments)
    metadata = _each("meta_block_size", *values.metadata_bytes)
    if shape.filesystem not in STRIPED:
        # Alone: beside both others the product would be twice as large.
        reservation = reserved(shape)
        return [*_product(alignment, metadata), *([reservation] if reservation else [])]
    # Their full product would be 16 placements: where stripes are set, these two do little.
    stripes = _stripes(shape, values)
    if values.with_stripes:
        return _product([_NONE, *stripes], [_NONE, *alignment[1:], *metadata[1:]])
    return [_NONE, *stripes, *alignment[1:], *metadata[1:]]


def _stripes(shape: Shape, values: _Values) -> list[Settings]:
    known = shape.targets is not None and shape.targets.count is not None
    if known or not values.stripes:
        return [one.settings for one in stripings_of(shape)]
    return [
        {"striping_factor": str(count), "striping_unit": str(unit)}
        for count, unit in values.stripes
        if count not in shape.ruled_out_counts
    ]


def _buffers(shape: Shape) -> list[Settings]:
    return _product(
        _each("page_buffer", *page_buffers(shape)), _each("mdc_size", *metadata_caches(shape))
    )


def _memory(shape: Shape) -> list[Settings]:
    if shape.write:
        return _each("sieve_buf_size", 4 * MIB) if shape.ranks == 1 else [_NONE]
    if not shape.chunk:
        return _each("sieve_buf_size", MIB, 4 * MIB, 16 * MIB)
    return _each("chunk_cache", *sorted({*chunk_caches(shape), 8 * MIB, 128 * MIB}))


def space(shape: Shape) -> list[Candidate]:
    """Every point but the default, each once."""
    return _points(shape, _SPARSE)


def dense_space(shape: Shape) -> list[Candidate]:
    """The same with more values of each parameter: response surfaces are measured on it."""
    return _points(shape, _DENSE)


def _points(shape: Shape, values: _Values) -> list[Candidate]:
    verb = "write" if shape.write else "read"
    buffer = "ind_wr_buffer_size" if shape.write else "ind_rd_buffer_size"
    if shape.ranks == 1:
        transfers = [_NONE]
    elif shape.collective:
        transfers = _aggregation(shape, verb, buffer, values)
    else:
        transfers = _independent(verb, buffer, values)
    points: dict[str, Candidate] = {}
    for settings in _product(transfers, _placement(shape, values), _memory(shape), _buffers(shape)):
        one = Candidate(settings)
        if settings:
            points.setdefault(one.text, one)
    return list(points.values())
