"""Each finding of ranks and of MPI-IO: a program that shows it, and its twin without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from iotune import open_trace
from iotune.findings import findings_of, look
from iotune.findings.facts import Facts
from support.installed.habits import Habits, ids, needs_the_library
from support.installed.order_runs import compiled_programs, recorded
from support.mpis import find_mpi

pytestmark = [pytest.mark.mpi, needs_the_library]

RANKS = 4
HABITS = {
    "independent": "independent-transfers",
    "ungathered": "ungathered-collectives",
    "one-rank": "one-rank",
    "imbalance": "imbalance",
    "file-per-rank": "file-per-rank",
    "read-by-all": "shared-reads",
    "write-by-all": "overlapping-writes",
    "header-by-two": "overlapping-writes",
    "sieving": "data-sieving",
    "shared-pointer": "shared-pointer",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Habits:
    return Habits(tmp_path_factory.mktemp("habits"), "parallel_habits")


@pytest.mark.parametrize(("habit", "id"), HABITS.items())
def test_a_habit_is_found_and_its_mended_twin_has_nothing(
    programs: Habits, habit: str, id: str
) -> None:
    found = programs.findings(habit, good=False, ranks=RANKS)
    assert id in ids(found), ids(found)
    assert ids(programs.findings(habit, good=True, ranks=RANKS)) == []


def test_eight_bytes_of_two_ranks_are_named(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    programs = Habits(tmp_path_factory.mktemp("header"), "parallel_habits")
    found = programs.findings("header-by-two", good=False, ranks=RANKS)
    shown = found.findings[0].evidence[0]
    assert shown.text == "rank 0 and rank 1 both write the 8 B at 4,096"
    assert shown.ranks == (0, 1)
    assert shown.file.endswith("out.bin")
    assert found.findings[0].summary.endswith("iotune run --order records whether the program "
                                              "orders them")  # fmt: skip


@pytest.mark.parametrize("name", ["rewritten_header", "missing_barrier"])
def test_recorded_order_tells_a_race_from_an_order(name: str, tmp_path: Path) -> None:
    # given two programs that differ in what orders their ranks
    mpi = find_mpi("mpich-4")
    if mpi is None:
        pytest.skip("NOT VERIFIED: mpich-4 is not here")
    program = compiled_programs(mpi, [name], tmp_path)[name]
    race, ordered = (
        findings_of(open_trace(recorded(mpi, 2, program, form, tmp_path)[0])).findings
        for form in ("race", "ordered")
    )
    # then what nothing orders is grave, whether both write or one reads
    (found,) = race
    assert (found.id, found.severity, found.layer) == ("unordered-accesses", "high", "posix")
    (shown,) = found.evidence
    assert shown.ranks == (0, 1) and shown.file.endswith("shared.bin")
    pairs = "4 unordered pairs of 4" if name == "rewritten_header" else "1 unordered pair of 1"
    assert pairs in shown.text
    # and ranks that write the same bytes in order are hardly worth a word
    assert [(one.id, one.severity) for one in ordered] == (
        [("overlapping-writes", "low")] if name == "rewritten_header" else []
    )


def test_what_depends_on_the_file_system_is_asked_of_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: four ranks that write 64 MiB into one file
    programs = Habits(tmp_path_factory.mktemp("habits"), "parallel_habits")
    trace = programs.trace("unaligned", good=True, ranks=RANKS)
    assert ids(findings_of(trace)) == []
    # when its folder is NFS
    monkeypatch.setattr(Facts, "filesystem", lambda facts, file: "nfs")
    found = findings_of(trace)
    # then MPI-IO locks
    assert ids(found) == ["file-locks"]
    assert found.findings[0].evidence[0].ranks == (0, 1, 2, 3)
    # and when it has one stripe, and one that requests do not keep to
    monkeypatch.setattr(Facts, "filesystem", lambda facts, file: "lustre")
    one_target = {"striping_factor": "1", "striping_unit": str(3 << 16)}
    monkeypatch.setattr(Facts, "striping", lambda facts, file: one_target)
    assert sorted(ids(findings_of(trace))) == ["misaligned", "narrow-striping"]
    monkeypatch.setattr(
        Facts, "striping", lambda facts, file: {"striping_factor": "4", "striping_unit": "65536"}
    )
    assert ids(findings_of(trace)) == []


def test_edges_of_large_requests_matter_where_nodes_share_storage(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Habits(tmp_path_factory.mktemp("habits"), "parallel_habits")
    bad, good = (programs.trace("unaligned", good, RANKS) for good in (False, True))
    for filesystem, expected in (("ext4", []), ("gpfs", ["misaligned"])):
        monkeypatch.setattr(Facts, "filesystem", lambda facts, file, it=filesystem: it)
        assert ids(findings_of(bad)) == expected
        assert ids(findings_of(good)) == []


def test_evidence_has_the_ranks(tmp_path_factory: pytest.TempPathFactory) -> None:
    programs = Habits(tmp_path_factory.mktemp("habits"), "parallel_habits")
    found = programs.findings("independent", good=False, ranks=RANKS)
    by_id = {one.id: one for one in found.findings}
    shown = by_id["independent-transfers"].evidence[0]
    assert (shown.ranks, shown.calls) == ((0, 1, 2, 3), 4 * 512)
    assert by_id["independent-transfers"].layer == "mpiio"
    (imbalance,) = programs.findings("imbalance", good=False, ranks=RANKS).findings
    assert imbalance.evidence[0].ranks == (0,)
    assert "rank 0 writes 24.0 MiB" in imbalance.summary


@pytest.mark.parametrize("habit", ["independent", "ungathered"])
def test_gathering_on_a_disk_of_the_node_is_a_small_matter(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, habit: str
) -> None:
    programs = Habits(tmp_path_factory.mktemp("habits"), "parallel_habits")
    trace = programs.trace(habit, good=False, ranks=RANKS)
    monkeypatch.setattr(look, "severity", lambda facts, evidence: "high")
    for filesystem, severity in (("ext4", "low"), ("gpfs", "high")):
        monkeypatch.setattr(Facts, "filesystem", lambda facts, file, it=filesystem: it)
        found = {one.id: one.severity for one in findings_of(trace).findings}
        assert found[HABITS[habit]] == severity, found
