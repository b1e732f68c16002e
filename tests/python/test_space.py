"""The trainer chooses within the space that the exhaustive search measures."""

from __future__ import annotations

import itertools

import pytest
from iotune.models.candidates import Shape, candidates, chunk_caches
from iotune.models.space import space

from iotune import core

SHAPES = [
    Shape(
        write=write, collective=collective, distributions=distributions, ranks=ranks,
        file_bytes=256 << 20, filesystem=filesystem, chunk=chunk, element_bytes=8,
    )
    for write, collective, distributions, ranks, filesystem, chunk in itertools.product(
        (True, False), (True, False), (("*", "BLOCK"), ("BLOCK",)), (2, 4, 16),
        ("ext4", "cephfs"), ((), (64, 64)),
    )
] + [
    # A row of 2 MiB chunks that fits no small cache, one that fits none, and chunks of 128 MiB.
    Shape(
        write=False, collective=True, distributions=("BLOCK", "*"), ranks=2,
        file_bytes=1 << 36, element_bytes=8, chunk=chunk, dimensions=dimensions,
    )
    for chunk, dimensions in (
        ((128, 2048), (4096, 204800)), ((128, 2048), (4096, 20480000)),
        ((4096, 4096), (8192, 8192)),
    )
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_candidate_is_a_point_of_the_space(shape: Shape) -> None:
    points = {one.text for one in space(shape)}
    outside = [one.text for one in candidates(shape, budget=1000) if one.text not in points]
    assert outside == []
    assert len(points) >= 47  # and the default


def test_chunk_caches_are_those_of_the_trainer() -> None:
    """Rows of chunks count in both: a formula of its own made the space miss the trainer's best."""
    for shape in SHAPES:
        sizes = {one.settings.get("chunk_cache", "") for one in space(shape)} - {""}
        tried = {one.settings.get("chunk_cache", "") for one in candidates(shape, 1000)} - {""}
        assert tried <= sizes, shape
        assert bool(tried) == bool(shape.chunk and not shape.write), shape
    assert chunk_caches(SHAPES[-3]) == [202 << 20, 32 << 20]
    assert chunk_caches(SHAPES[-2]) == [1 << 30, 32 << 20]
    assert chunk_caches(SHAPES[-1]) == [1 << 30]


def test_every_point_can_be_set() -> None:
    for shape in SHAPES:
        for one in space(shape):
            for name, value in one.settings.items():
                assert core.fault_of_setting(name, value) is None, (name, value)
