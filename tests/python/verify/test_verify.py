"""`iotune verify`: which processes touch the same bytes, and by what calls."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iotune.verify import Conflicts, conflicts_of, verdicts_of
from iotune.verify.conflicts import who_both
from iotune.verify.elements import with_elements
from support.installed.habits import Habits, needs_the_library
from support.installed.import_logs import LOGS, imported, typed
from support.installed.json_schemas import conforming
from support.repository import TESTS

ORDER = TESTS / "data" / "v3" / "three-ranks-order.iotrace"
HEAD = "layer,rank,call,file,offset,length,start,duration\n"


def conflicts(folder: Path, *lines: str) -> Conflicts:
    """Of a log with these lines."""
    log = folder / "log.csv"
    log.write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return conflicts_of([imported(log, folder)[0].path])


def test_neighbours_in_a_page_do_not_conflict_and_shared_bytes_do(tmp_path: Path) -> None:
    found = conflicts(
        tmp_path,
        "posix,0,pwrite,/data/a.bin,0,100,0.0,0.1",
        "posix,1,pwrite,/data/a.bin,100,100,0.0,0.1",
        "posix,1,pread,/data/a.bin,99,1,0.2,0.1",
        "posix,0,pread,/data/b.bin,0,10,0.3,0.1",
        "posix,1,pread,/data/b.bin,0,10,0.4,0.1",
    )
    a, b = found.files
    assert (a.path, a.pairs, a.ranks) == ("/data/a.bin", 1, (0, 1))
    assert (b.path, b.pairs, b.processes) == ("/data/b.bin", 0, 2)
    (site,) = a.sites
    assert (site.kind, site.first, site.second) == ("write-read", "pwrite", "pread")
    assert [(one.rank, one.offset, one.length) for one in site.example] == [(0, 0, 100), (1, 99, 1)]
    assert site.bytes_of_example == (99, 100)


def test_pairs_are_counted_once_whatever_the_loops(tmp_path: Path) -> None:
    # given: 3 ranks that write the same 50 rows, and one that reads all of them at once
    rows = [
        f"posix,{rank},pwrite,/data/a.bin,{row * 1000},10,{row}.{rank},0.1"
        for row in range(50)
        for rank in range(3)
    ]
    found = conflicts(tmp_path, *rows, "posix,3,pread,/data/a.bin,0,100000,60.0,0.1")
    (file,) = found.files
    assert file.pairs_of("write-write") == 3 * 50
    assert file.pairs_of("write-read") == 3 * 50
    assert {one.process_pairs for one in file.sites} == {3}


def test_the_command_prints_what_the_schema_says(tmp_path: Path) -> None:
    conflicts(
        tmp_path,
        "posix,0,pwrite,/data/a.bin,0,100,0.0,0.1",
        "posix,1,pwrite,/data/a.bin,90,100,0.0,0.1",
    )
    document: Any = conforming("verify", typed(tmp_path, "verify", "made.iotrace", "--json").stdout)
    assert document["files"][0]["sites"][0]["pairs"] == 1
    done = typed(tmp_path, "verify", "made.iotrace")
    assert "rank 0 writes 100 bytes at 0 and rank 1 writes 100 bytes at 90" in done.stdout
    assert "nothing is known of which access came first" in done.stderr


def test_files_of_a_series_are_one_entry(tmp_path: Path) -> None:
    both = "posix,{rank},pwrite,/data/step{step}.bin,0,100,{step}.{rank},0.1"
    other = ["posix,0,pwrite,/data/last.bin,0,100,9.1,0.1", "posix,1,pread,/data/last.bin,0,9,9,1"]
    lines = [both.format(rank=rank, step=step) for step in range(5) for rank in (0, 1)]
    assert len(conflicts(tmp_path, *lines, *other).files) == 6
    said = typed(tmp_path, "verify", "made.iotrace").stdout
    assert said.count("/data/step#.bin (5 files)\n") == 2  # in the table, and its own part
    assert said.count("step") == 2 and said.count("/data/last.bin\n") == 2


@pytest.mark.parametrize("log", sorted(one.name for one in LOGS.glob("*.csv")))
def test_logs_of_other_tools_are_read(tmp_path: Path, log: str) -> None:
    trace = imported(LOGS / log, tmp_path)[0].path
    conforming("verify", typed(tmp_path, "verify", str(trace), "--json").stdout)


def test_a_rank_and_its_child_are_told_apart() -> None:
    (file,) = verdicts_of([ORDER]).files
    child = next(one for one in file.sites if one.kind == "truncation")
    assert child.example is not None
    names = [f"rank 0 (process {one.process})" for one in child.example]
    assert [*who_both(child.example)] == names and names[0] != names[1]


@pytest.mark.mpi
@needs_the_library
def test_two_ranks_that_write_the_same_bytes(tmp_path: Path) -> None:
    programs = Habits(tmp_path, "parallel_habits")
    found = conflicts_of([programs.trace("header-by-two", good=False, ranks=2).path])
    file = next(one for one in found.files if one.path.endswith("out.bin"))
    (site,) = file.sites
    assert (site.kind, site.pairs) == ("write-write", 1)
    assert site.first == site.second
    assert site.first.startswith("MPI_File_write_at → ")
    assert [(one.rank, one.offset, one.length) for one in site.example] == [
        (0, 4096, 8),
        (1, 4096, 8),
    ]
    found = conflicts_of([programs.trace("header-by-two", good=True, ranks=2).path])
    assert all(one.pairs == 0 for one in found.files)


Traced = Callable[[str], Conflicts]

FORKS = """
import mmap, os, sys
def own(path, flags=os.O_RDWR | os.O_CREAT): return os.open(path, flags, 0o644)
def write(path, flags=os.O_RDWR | os.O_CREAT, text=b"12345678"):
    fd = own(path, flags); os.write(fd, text); os.close(fd)
def in_child(deed):
    pid = os.fork()
    if pid == 0:
        deed(); os._exit(0)
    os.waitpid(pid, 0)
"""


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    """Runs lines of Python, in which the parent and its child use files."""

    def run(lines: str) -> Conflicts:
        trace = tmp_path / "made.iotrace"
        words = [sys.executable, "-c", FORKS + lines]
        with (tmp_path / "stdout").open("w") as stdout:
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "iotune", "run", "--mode", "record", "-o", str(trace)),
                    *("--", *words),
                ],
                cwd=tmp_path,
                env=os.environ | {"XDG_STATE_HOME": str(tmp_path / "state"), "IOTUNE_DB": "none"},
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                timeout=100,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        return conflicts_of([trace])

    return run


# Lines, and the kinds of conflicts that they make.
NAMES: dict[str, tuple[str, list[str]]] = {
    "one name": ('write("a"); in_child(lambda: write("a"))', ["write-write"]),
    "a name through a folder": (
        'os.mkdir("d"); write("a"); in_child(lambda: write("d/../a"))', ["write-write"],
    ),
    "a hard link": (
        'write("a"); os.link("a", "b"); in_child(lambda: write("b"))', ["write-write"],
    ),
    "a symbolic link": (
        'write("a"); os.symlink("a", "b"); in_child(lambda: write("b"))', ["write-write"],
    ),
    "moved": ('write("a"); os.rename("a", "b"); in_child(lambda: write("b"))', ["write-write"]),
    "unlinked and made": ('write("a"); os.unlink("a"); in_child(lambda: write("a"))', []),
    "moved away": ('write("a"); os.rename("a", "b"); in_child(lambda: write("a"))', []),
    "emptied": (
        'write("a"); in_child(lambda: own("a", os.O_RDWR | os.O_TRUNC))', ["truncation"],
    ),
    "cut behind the bytes": ('write("a"); in_child(lambda: os.truncate("a", 8))', []),
    "cut within the bytes": ('write("a"); in_child(lambda: os.truncate("a", 7))', ["truncation"]),
    "mapped": (
        'write("a"); in_child(lambda: mmap.mmap(own("a"), 8))', ["write-write"],
    ),
    "mapped to be read": (
        'write("a"); in_child(lambda: mmap.mmap(own("a"), 8, prot=mmap.PROT_READ))',
        ["write-read"],
    ),
    "appended": (
        'write("a"); in_child(lambda: write("a", os.O_WRONLY | os.O_APPEND))', [],
    ),
    "printed": (
        'os.write(1, b"12"); in_child(lambda: os.lseek(1, 0, 0) + os.write(1, b"1"))', [],
    ),
    "copied from": (
        'write("a")\nin_child(lambda: os.copy_file_range(own("a"), own("b"), 4))', ["write-read"],
    ),
}  # fmt: skip


@needs_the_library
@pytest.mark.parametrize("name", NAMES)
def test_which_file_and_bytes_a_call_touches(traced: Traced, name: str) -> None:
    lines, kinds = NAMES[name]
    found = traced(lines)
    assert [site.kind for file in found.files for site in file.sites] == kinds


HDF5 = """
import h5py, numpy
with h5py.File("a.h5", "w") as file: file["a"] = numpy.zeros((8, 8))
def some():
    with h5py.File("a.h5", "r") as file: return file["a"][2:4, 1:3]
in_child(some)
"""


@needs_the_library
def test_hdf5s_own_metadata_is_told_from_elements_of_the_user(
    traced: Traced, tmp_path: Path
) -> None:
    # given a process that reads what another one wrote by HDF5
    found = traced(HDF5)
    # then a conflict is HDF5's own where neither of the calls moves a dataset
    (file,) = found.files
    own = {(one.first, one.second): one.is_metadata for one in file.sites}
    assert own["H5Fcreate → pwrite", "H5Fopen → pread"] is True
    assert own["pwrite", "H5Dread of /a → pread"] is False
    assert 0 < file.metadata_pairs < file.pairs
    # and an access within a transfer of HDF5 names what it selected
    traces = [tmp_path / "made.iotrace"]
    sites = with_elements(traces, verdicts_of(traces)).conflicts.files[0].sites
    (read,) = (one.example[1] for one in sites if one.second == "H5Dread of /a → pread"
               and one.first == "pwrite")  # fmt: skip
    assert read.elements == "elements 2-3, 1-2 of /a"
    assert read.deed.endswith(" (elements 2-3, 1-2 of /a)")
    # and people see both
    said = typed(tmp_path, "verify", "made.iotrace").stdout
    assert "HDF5's own" in said.splitlines()[0] and "(elements 2-3, 1-2 of /a)" in said
    conforming("verify", typed(tmp_path, "verify", "made.iotrace", "--json").stdout)
