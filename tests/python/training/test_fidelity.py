"""A search looks at smaller files of a large pattern; what wins is raced on the whole one."""

import math

import pytest
from iotune.models.cases import Case, distributions, stored_pattern
from iotune.models.replays.fidelity import SEARCH_BYTES, smaller_file

from iotune.replay.plan_build import plan_bytes, plan_of_pattern

MIB = 1 << 20


def pattern(descriptor, dims, grid, chunk=(), element_bytes=8):
    return {
        "descriptor": descriptor, "op": "write", "element_bytes": element_bytes,
        "ranks": math.prod(grid), "grid": list(grid), "mode": "collective", "chunk": list(chunk),
        "filters": 0, "dataset_dims": list(dims), "byte_key": "of the whole file",
    }  # fmt: skip


LARGE = [
    # (pattern, datasets): columns; blocks of three dimensions; CYCLIC(k); one dimension.
    (pattern("<2D,(*,BLOCK),(65536,64)>", (65536, 128), (1, 2)), 2),
    (pattern("<3D,(BLOCK,BLOCK,BLOCK),(256,128,64)>", (512, 256, 128), (2, 2, 2), (64, 32, 64)), 1),
    (pattern("<2D,(CYCLIC(16),*),(4096,1024)>", (8192, 1024), (2, 1)), 1),
    (pattern("<1D,(BLOCK),(8388608)>", (16777216,), (2,)), 1),
    (pattern("<2D,(*,BLOCK),(16,64)>", (16, 128), (1, 2)), 9000),
]


@pytest.mark.parametrize(("whole", "datasets"), LARGE)
def test_a_smaller_file_has_the_same_pieces(whole, datasets):
    found = smaller_file(whole, datasets)
    assert found is not None
    plan = plan_of_pattern(stored_pattern(Case(0, found.pattern, {})), found.datasets)
    assert plan_bytes(plan) <= SEARCH_BYTES
    whole_bytes = math.prod(whole["dataset_dims"]) * whole["element_bytes"] * datasets
    assert found.share == pytest.approx(plan_bytes(plan) / whole_bytes)
    names, counts = distributions(found.pattern["descriptor"])
    assert names == distributions(whole["descriptor"])[0]
    assert counts[1:] == distributions(whole["descriptor"])[1][1:]
    assert found.pattern["dataset_dims"][1:] == whole["dataset_dims"][1:]
    assert "byte_key" not in found.pattern, "the database would take it for the whole file"


def test_what_would_save_little_is_looked_at_whole():
    small = pattern("<2D,(*,BLOCK),(4096,64)>", (4096, 128), (1, 2))
    assert smaller_file(small, 1) is None
    # One long row: cutting it would make a transfer short.
    row = pattern("<2D,(*,BLOCK),(1,4194304)>", (1, 8388608), (1, 2))
    assert smaller_file(row, 1) is None
    assert smaller_file(pattern("<1D,(IRREGULAR),(8388608)>", (16777216,), (2,)), 1) is None
