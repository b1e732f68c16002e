"""The trainer chooses within the space that the exhaustive search measures."""

from __future__ import annotations

import itertools

import pytest
from iotune.models.candidates import Shape, candidates
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
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_candidate_is_a_point_of_the_space(shape: Shape) -> None:
    points = {one.text for one in space(shape)}
    outside = [one.text for one in candidates(shape, budget=1000) if one.text not in points]
    assert outside == []
    assert len(points) >= 47  # and the default


def test_every_point_can_be_set() -> None:
    for shape in SHAPES:
        for one in space(shape):
            for name, value in one.settings.items():
                assert core.fault_of_setting(name, value) is None, (name, value)
