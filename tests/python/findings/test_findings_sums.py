"""What findings add up over files and ranks, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from iotune.findings import Finding, findings_of
from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts
from iotune.reports.tables import size_text
from support.installed.import_logs import imported

HEAD = "layer,rank,call,file,offset,length,start,duration\n"
SMALL_CALLS = 1000


def finding(rows: list[str], tmp_path: Path, id: str) -> Finding | None:
    """The finding of that id in a log of these rows."""
    log = tmp_path / "log.csv"
    log.write_text(HEAD + "\n".join(rows) + "\n")
    trace, _ = imported(log, tmp_path)
    return next((one for one in findings_of(trace).findings if one.id == id), None)


def small_calls(call: str, rank: int, file: str, duration: float) -> list[str]:
    """So many at once in each file, one behind the other, on all ranks at the same time."""
    return [
        f"posix,{rank},{call},/data/{file},{k * 100},100,{k * duration:.6f},{duration:.6f}"
        for k in range(SMALL_CALLS)
    ]


@pytest.mark.parametrize("call", ["pread", "pwrite"])
def test_ranks_work_at_the_same_time(tmp_path: Path, call: str) -> None:
    """Four ranks, a file each: no more can be won than the run lasts."""
    rows = [row for rank in range(4) for row in small_calls(call, rank, f"part{rank}", 0.001)]
    found = finding(rows, tmp_path, "small-reads" if call == "pread" else "small-writes")
    assert found is not None and len(found.evidence) == 4 and found.estimate is not None
    assert found.estimate.seconds == pytest.approx(1.0, rel=0.01)
    assert found.estimate.share == pytest.approx(1.0, rel=0.01)


def test_severity_is_the_share_of_one_rank(tmp_path: Path) -> None:
    """Eight ranks with 3 % of the run's time each are no 24 %."""
    rows = [row for rank in range(8) for row in small_calls("pwrite", rank, f"p{rank}", 0.00003)]
    rows.append("posix,0,pwrite,/data/last,0,1048576,0.999,0.001")
    found = finding(rows, tmp_path, "small-writes")
    assert found is not None and len(found.evidence) == 8
    assert found.severity == "low"


def test_the_files_of_one_rank_are_added_up(tmp_path: Path) -> None:
    rows = small_calls("pwrite", 0, "a", 0.0001) + small_calls("pwrite", 0, "b", 0.0002)
    rows.append("posix,1,pwrite,/data/c,0,10,1.9,0.1")
    found = finding(rows, tmp_path, "small-writes")
    assert found is not None and found.estimate is not None
    assert found.estimate.seconds == pytest.approx(0.3, rel=0.01)


def test_no_json_has_the_times_of_processes(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(HEAD + "\n".join(small_calls("pwrite", 0, "a", 0.001)) + "\n")
    trace, _ = imported(log, tmp_path)
    (found,) = findings_of(trace).as_json()["findings"]
    assert sorted(found["evidence"][0]) == [
        *("bytes", "calls", "dataset", "file", "ranks", "seconds", "text"),
    ]


@pytest.mark.parametrize(("size", "offset", "is_small"),
                         [(4096, 0, True), (3 << 20, 0, False), (0, 5 << 20, False)])  # fmt: skip
def test_a_little_of_each_of_many_large_files_is_no_small_file(
    tmp_path: Path, size: int, offset: int, is_small: bool
) -> None:
    rows = []
    for k in range(150):
        file = tmp_path / f"f{k}"
        if size:
            with file.open("wb") as made:
                made.truncate(size)
        rows.append(f"posix,0,pread,{file},{offset},4096,{k * 0.01:.2f},0.001")
    assert (finding(rows, tmp_path, "small-files") is not None) == is_small


def test_bytes_that_are_read_again_make_no_file_larger(tmp_path: Path) -> None:
    rows = [
        f"posix,0,pread,/data/part{k},0,1000,{k * 0.01 + again * 0.001:.6f},0.0001"
        for k in range(limit.MANY_FILES)
        for again in range(3)
    ]
    found = finding(rows, tmp_path, "small-files")
    assert found is not None
    assert found.summary == f"{limit.MANY_FILES} files hold {size_text(1000 * limit.MANY_FILES)}"
    assert found.evidence[0].text.startswith(f"{limit.MANY_FILES} files of 1000 B on average")


def test_only_requests_of_a_block_can_be_misaligned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Facts, "filesystem", lambda facts, file: "gpfs")
    rows = [
        f"posix,{k % 2},pwrite,/data/a,{k * 10000 + 100},{8192 if k < 16 else 200},{k}.0,0.1"
        for k in range(23)
    ]
    found = finding(rows, tmp_path, "misaligned")
    assert found is not None
    assert found.evidence[0].text.startswith("16 of 16 writes of at least a block of 4096 bytes")
