"""What the features say that settings make the storage do, against what replays counted.

The kept surfaces have system calls and bytes of every file: counts, which no other run changes.
"""

import math

import numpy as np
import pytest

pytest.importorskip("sklearn")
from iotune.models.gains.rows import features_of  # noqa: E402

from bench.training.surfaces import load  # noqa: E402
from iotune import core  # noqa: E402

NAMES = core.feature_names()
# HDF5's own: superblock, headers, sizes; and of iotune's trace, whenever its buffer grows.
FEW_CALLS, FEW_CALLS_OF_A_DATASET = 80, 8
MANY_CALLS = 64


def counted(storage):
    """Of each surface and settings: predicted and counted calls, and bytes; and the way."""
    for surface in load(storage, kept=True):
        counts = surface.counts()
        subject = surface.subject
        found = features_of(subject.pattern, subject.question, list(counts))
        if found is None or subject.pattern["chunk"]:
            continue
        ways = core.ways(found[0].tolist(), found[1].tolist())
        for text, row, way in zip(counts, found[0], ways):
            exact = dict(zip(NAMES, 2**row))
            calls = exact["log2_system_calls"] * exact["log2_aggregators"]
            moved = calls * exact["log2_call_bytes"]
            yield surface, text, way, (calls, moved), counts[text]


@pytest.mark.parametrize("storage", ["cephfs", "paced"])
def test_system_calls_are_as_counted(storage):
    off, seen, ratios = [], 0, []
    for surface, text, _, (calls, _), counts in counted(storage):
        seen += 1
        own = FEW_CALLS + FEW_CALLS_OF_A_DATASET * surface.subject.datasets
        least, most = 0.6 * calls - own, 1.7 * calls + own
        if not least <= counts["system_calls"] <= most:
            off.append((surface.subject.name, text, calls, counts["system_calls"]))
        if calls >= MANY_CALLS:
            ratios.append(math.log2(counts["system_calls"] / calls))
    assert seen > 200
    assert len(off) <= 0.03 * seen, off[:10]
    assert len(ratios) > 20 and abs(np.median(ratios)) < 0.4, np.median(ratios)


@pytest.mark.parametrize("storage", ["cephfs", "paced"])
def test_moved_bytes_are_as_counted(storage):
    ratios: dict[int, list[float]] = {}
    for _, _, way, (_, moved), counts in counted(storage):
        ratios.setdefault(way, []).append(math.log2(counts["moved_bytes"] / moved))
    for way, found in ratios.items():
        assert abs(np.median(found)) < 0.35, (way, np.median(found))
