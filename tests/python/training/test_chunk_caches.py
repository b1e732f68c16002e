"""The chunk cache that training tries is the one that findings name."""

from __future__ import annotations

from iotune.models.settings.candidates import Shape, candidates
from iotune.models.settings.chunk_caches import (
    cache_bytes_for,
    chunks_in_use,
    chunks_to_hold,
    default_cache_bytes,
)

from iotune.replay.plan import Dataset, PlanFile, Selection, Transfer

MIB = 1 << 20


def reads(dims: tuple[int, ...], chunk: tuple[int, ...], *starts: tuple[int, ...],
          block: tuple[int, ...]) -> PlanFile:  # fmt: skip
    """A file of 4-byte elements of which such blocks are read."""
    ones = (1,) * len(dims)
    transfers = [
        Transfer(False, 0, False, {0: Selection("slab", ((*start, *ones, *ones, *block),))})
        for start in starts
    ]
    return PlanFile("/a.h5", False, [Dataset("/x", 4, dims, chunk)], transfers)


def test_reads_across_the_first_dimension_come_back_to_all_its_chunks() -> None:
    # given chunks of 1 MiB, of which each read takes a column of 256
    columns = [(0, 0, k) for k in range(8)]
    file = reads((256, 512, 512), (1, 512, 512), *columns, block=(256, 1, 1))
    # then
    assert chunks_in_use(file, MIB) == 256
    assert cache_bytes_for(256, MIB) == 256 * MIB


def test_a_repeated_transfer_counts_its_later_places_too() -> None:
    file = reads((64, 512), (1, 512), (0, 0), block=(1, 512))
    file.transfers[0].repeat, file.transfers[0].shift = 64, (1, 0)
    # One chunk at once has room; between two uses of it come all others.
    assert chunks_in_use(file, MIB) == 64


def test_what_cannot_be_counted_is_not_known() -> None:
    file = reads((64, 512), (1, 512), (0, 0), block=(1, 512))
    file.datasets[0].chunk = ()
    assert chunks_in_use(file, MIB) == 0
    assert chunks_in_use(PlanFile("/a.h5", False), MIB) == 0
    file = reads((1 << 20,), (1,), (0,), block=(1 << 20,))
    assert chunks_in_use(file, MIB) == 0


def test_training_tries_the_cache_that_holds_them() -> None:
    shape = Shape(
        False, False, ("*", "*", "*"), 1, 1 << 30, (1, 512, 512), (256, 512, 512), 4,
        chunks_in_use=256,
    )  # fmt: skip
    tried = [one.settings["chunk_cache"] for one in candidates(shape) if "chunk_cache" in one.text]
    assert tried == [str(256 * MIB)]


def test_a_transfer_that_has_room_is_no_reason_for_a_larger_cache() -> None:
    assert chunks_to_hold(4, 100, 4 * MIB, 8 * MIB) == 4
    assert chunks_to_hold(4, 100, MIB, 8 * MIB) == 100
    assert (default_cache_bytes("1.10.8"), default_cache_bytes("2.0.0")) == (MIB, 8 * MIB)
