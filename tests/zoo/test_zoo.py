"""The zoo under pytest: those of the table's `check` always, all with `-m ""` (`make soak`)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.repository import IOTUNE
from zoo.zoo import visit
from zoo.zoo_cage import Cage, Missing
from zoo.zoo_compare import Left, differences
from zoo.zoo_table import Entry, Exception_, read_table

CageOf = Callable[..., Cage]
TwoRuns = Callable[..., tuple[Left, Left]]
VISITS = [
    pytest.param(
        entry, mpi, id=f"{entry.name}@{mpi}" if mpi else entry.name,
        marks=(*(() if entry.check else [pytest.mark.soak]), *([pytest.mark.mpi] if mpi else ())),
    )
    for entry in read_table()
    for mpi in entry.mpi or ("",)
]  # fmt: skip


@pytest.fixture
def cage_of() -> Iterator[CageOf]:
    """A cage for an entry, with buffers that are removed after the test."""
    with (
        tempfile.TemporaryDirectory(prefix="iotune-zoo-") as scratch,
        tempfile.TemporaryDirectory(prefix="iotune-zoo-", dir="/dev/shm") as buffers,
    ):
        yield lambda entry, mpi="": Cage(entry, mpi, IOTUNE, Path(scratch), Path(buffers))


@pytest.mark.parametrize(("entry", "mpi"), VISITS)
def test_visit(entry: Entry, mpi: str, cage_of: CageOf) -> None:
    try:
        outcome = visit(cage_of(entry, mpi))
    except Missing as missing:
        pytest.skip(f"NOT VERIFIED: {entry.name}: {missing}")
    print("\n".join(outcome.notes))
    assert outcome.faults == [], "\n".join(outcome.faults)


# What the runner must find: a zoo that sees no fault proves nothing.


def test_a_program_that_changes_under_a_preload_is_found(cage_of: CageOf) -> None:
    seen = 'if [ -n "$LD_PRELOAD" ]; then echo other; else echo plain; fi >file'
    outcome = visit(cage_of(Entry("changes", seen)))
    assert any(f.startswith("default 1: file: other bytes") for f in outcome.faults)
    assert not any("bare" in f for f in outcome.faults)


def test_words_of_iotune_in_default_mode_are_found(cage_of: CageOf) -> None:
    says = 'seq 100 >file; [ -z "$LD_PRELOAD" ] || echo "iotune: hello" >&2'
    faults = visit(cage_of(Entry("says", says))).faults
    assert [f for f in faults if "default" in f] == [
        f"default {n}: not silent: ['iotune: hello']" for n in (1, 2)
    ]


def test_a_program_that_differs_bare_from_bare_is_reported(cage_of: CageOf) -> None:
    faults = visit(cage_of(Entry("random", "head -c 20 /dev/urandom >file"))).faults
    assert any(f.startswith("bare differs from bare: file: other bytes") for f in faults)


def test_a_program_that_is_not_recorded_is_found(cage_of: CageOf) -> None:
    faults = visit(cage_of(Entry("silent", "echo hello"))).faults
    assert faults == ["recorded: no file of the program stands in the trace"]


def test_a_hang_is_a_fault_and_ends(cage_of: CageOf) -> None:
    hangs = 'echo x >file; [ -z "$LD_PRELOAD" ] || sleep 60'
    faults = visit(cage_of(Entry("hangs", hangs, seconds=1))).faults
    assert any("exit status 0 became 137" in f for f in faults)


def test_what_cannot_be_had_is_missing(cage_of: CageOf) -> None:
    with pytest.raises(Missing, match="not installed"):
        visit(cage_of(Entry("none", "true", needs="false", packages=("none",))))


@pytest.fixture
def two_runs(tmp_path: Path) -> TwoRuns:
    def made(a: dict[str, bytes], b: dict[str, bytes], **output: bytes) -> tuple[Left, Left]:
        for name, files in (("a", a), ("b", b)):
            (tmp_path / name).mkdir()
            for file, data in files.items():
                (tmp_path / name / file).write_bytes(data)
        return (Left("a", 0, output.get("out", b""), b"", tmp_path / "a"),
                Left("b", 0, output.get("out_b", b""), b"", tmp_path / "b"))  # fmt: skip

    return made


def test_missing_and_changed_files_differ(two_runs: TwoRuns) -> None:
    a, b = two_runs({"same": b"1", "gone": b"2", "other": b"3"}, {"same": b"1", "other": b"4"})
    assert [line.split(":")[0] for line in differences(a, b, Entry("x", ""))] == ["gone", "other"]


def test_the_tables_reasons_leave_out_files_and_lines(two_runs: TwoRuns) -> None:
    a, b = two_runs(
        {"t": b"1"}, {"t": b"2"}, out=b"sum 1\n3 seconds\n", out_b=b"sum 1\n4 seconds\n"
    )
    entry = Entry("x", "", files=(Exception_("t", "exists", "time"),),
                  lines=(Exception_("seconds$", "never", "time"),))  # fmt: skip
    assert differences(a, b, entry) == []
    assert len(differences(a, b, Entry("x", ""))) == 2


def test_lines_of_ranks_may_change_places_but_not_words(two_runs: TwoRuns) -> None:
    a, b = two_runs({}, {}, out=b"rank 0\nrank 1\n", out_b=b"rank 1\nrank 0\n")
    assert differences(a, b, Entry("x", "", mpi=("mpich-4",))) == []
    assert len(differences(a, b, Entry("x", ""))) == 1


def test_every_entry_says_where_it_comes_from() -> None:
    entries = read_table()
    assert len(entries) >= 30
    assert 3 <= sum(entry.check for entry in entries) <= 6, "what make check runs"
    for entry in entries:
        assert entry.needs and (entry.packages or entry.wheels), entry.name


def test_a_wrong_table_is_reported(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('[a]\nrun = "true"\nfiles = [{ match = "x" }]\n')
    with pytest.raises(ValueError, match="a: files: match, because"):
        read_table(tmp_path / "t.toml")
