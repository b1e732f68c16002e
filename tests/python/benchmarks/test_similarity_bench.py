"""The pairs of `make bench NAME=similarity`: who receives whose answer, in which sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tuning import bench_similarity
from bench.tuning.bench_similarity import receiver_of
from bench.tuning.tuning_cases import KERNELS, SMALL, Case, Storage


def case(kernel: str, storage: str = "disk", *more: str) -> Case:
    words = SMALL[kernel] if storage == "cephfs" else dict(KERNELS)[kernel]
    words = tuple(word for word in words if word != "--collective")
    return Case(kernel, (*words, *more), True, Storage(storage, Path("/nowhere"), "mpirun", 2))


def flag(found: Case | None, name: str) -> str:
    assert found is not None
    return found.words[found.words.index(name) + 1]


@pytest.mark.parametrize("storage", ["disk", "cephfs"])
def test_ranks_have_as_many_bytes_in_a_dataset_as_in_the_program_that_was_trained(storage):
    vpic = case("vpic-io", storage)
    ior = receiver_of(vpic)
    assert int(flag(ior, "-b")) == 4 * int(flag(vpic, "--particles"))
    assert (flag(ior, "-a"), flag(ior, "-s"), flag(ior, "-t")) == ("HDF5", "8", flag(ior, "-b"))
    gcrm = case("gcrm-io", storage)
    blocks, *inside = map(int, flag(receiver_of(gcrm), "--size").split("x"))
    assert inside == [8, 8, 8]
    assert blocks * 8 * 8**3 == 4 * int(flag(gcrm, "--size").split("x")[-1])


def test_others_receive_nothing():
    found = {
        kernel: receiver_of(case(kernel))
        for kernel in ("vorpal-io", "flash-io", "column-io", "cyclic-io")
    }
    assert found.pop("vorpal-io") is not None and set(found.values()) == {None}
    assert receiver_of(case("vorpal-io", "disk", "--collective")) is None


def test_rounds_end_where_both_ratios_are_narrow_or_at_the_most():
    steady = {"default": 2.0, "iotune": 1.0, "own": 1.0}
    assert not bench_similarity.enough([steady] * 4, 15)
    assert bench_similarity.enough([steady] * 5, 15)
    wide = [steady, steady | {"own": 3.0}] * 4
    assert not bench_similarity.enough(wide, 15)
    assert bench_similarity.enough(wide, 8)
