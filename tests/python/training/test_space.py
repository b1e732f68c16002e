"""The trainer chooses within the space that the exhaustive search measures."""

from __future__ import annotations

import itertools

import pytest
from iotune.models.settings.candidates import Candidate, Shape, candidates, chunk_caches
from iotune.models.settings.space import space
from iotune.models.settings.unread import without_unread

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


_ROWS = SHAPES[-3:]
SHAPES += [
    Shape(
        write=write, collective=True, distributions=distributions, ranks=ranks,
        file_bytes=256 << 20, filesystem=filesystem, element_bytes=8, mpi=mpi,
    )
    for write, distributions, ranks, filesystem, mpi in itertools.product(
        (True, False), (("*", "BLOCK"), ("BLOCK",)), (4, 128), ("ext4", "lustre"),
        ("MPICH 4.0.2", "Cray MPICH 8.1.28 (MPICH 3.4a2)", "Open MPI v5.0.11", "Open MPI v6.0.0"),
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
    assert chunk_caches(_ROWS[0]) == [202 << 20, 32 << 20]
    assert chunk_caches(_ROWS[1]) == [1 << 30, 32 << 20]
    assert chunk_caches(_ROWS[2]) == [1 << 30]


def test_every_point_can_be_set() -> None:
    for shape in SHAPES:
        for one in space(shape):
            for name, value in one.settings.items():
                assert core.fault_of_setting(name, value) is None, (name, value)


def offered(mpi: str, filesystem: str = "ext4", ranks: int = 4, write: bool = True) -> set[str]:
    """Names of the settings that training may measure there."""
    shape = Shape(
        write=write, collective=True, distributions=("*", "BLOCK"), ranks=ranks,
        file_bytes=256 << 20, filesystem=filesystem, element_bytes=8, mpi=mpi,
    )  # fmt: skip
    return {name for one in candidates(shape) for name in one.settings}


def test_hints_that_one_library_reads_are_offered_there_alone() -> None:
    every = (
        "MPICH 4.0.2", "Cray MPICH 8.1.28", "Open MPI v4.1.8", "Open MPI v5.0.11",
        "Open MPI v6.0.0",
    )  # fmt: skip
    for mpi in every:
        found = offered(mpi, "lustre")
        open_mpi, cray = mpi.startswith("Open MPI"), mpi.startswith("Cray")
        assert ("collective_buffering" in found) == open_mpi, mpi
        assert ("cray_cb_nodes_multiplier" in found) == cray, mpi
        # To Open MPI 5's ROMIO no hints go, 6 has none, and Cray's is one of its own.
        of_romio = mpi in ("MPICH 4.0.2", "Open MPI v4.1.8")
        assert ("romio_lustre_co_ratio" in found) == of_romio, mpi
        assert not any("lustre" in one or "cray" in one for one in offered(mpi, "ext4")), mpi
        assert not any("lustre" in one or "cray" in one for one in offered(mpi, "lustre", 4, False))
        assert not any(one.startswith("romio_cb_pfr") for one in found), mpi


def test_that_only_aggregators_open_a_file_is_for_many_ranks() -> None:
    assert "romio_no_indep_rw" in offered("MPICH 4.0.2", ranks=128)
    assert "romio_no_indep_rw" not in offered("MPICH 4.0.2", ranks=4)
    assert "romio_no_indep_rw" not in offered("Open MPI v6.0.0", ranks=128)


def test_what_an_mpi_io_does_not_read_is_no_candidate(monkeypatch):
    monkeypatch.delenv("OMPI_MCA_io", raising=False)
    asked = [
        Candidate(),
        Candidate({"romio_cb_write": "enable"}),
        Candidate({"cb_buffer_size": "4194304", "romio_cb_write": "enable"}),
        Candidate({"cb_buffer_size": "4194304"}),
        Candidate({"collective_buffering": "false"}),
        Candidate({"romio_ds_write": "enable"}),
    ]
    ompio = {"mpi": "Open MPI v5.0.11", "filesystem": "ext4"}
    read = [one.text for one in without_unread(asked, ompio)]
    assert read == ["", "cb_buffer_size=4194304", "collective_buffering=false"]
    romio = {"mpi": "MPICH 4.0.2", "filesystem": "ext4"}
    assert len(without_unread(asked, romio)) == 5
    # Nobody knows which MPI-IO it is.
    others = {"mpi": "Intel MPI 2021.8", "filesystem": "ext4"}, {**ompio, "filesystem": "lustre"}
    for other in others:
        assert without_unread(asked, other) == asked
    monkeypatch.setenv("OMPI_MCA_io", "romio341")
    assert without_unread(asked, ompio) == asked
