"""Findings out of what a log counted, without its calls; and that nothing false is among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from iotune.findings import findings_of
from iotune.findings.facts import Facts
from iotune.findings.finding import Finding
from support.installed.darshan_texts import Record, darshan_text, dxt_text
from support.installed.import_logs import imported

MIB = 1 << 20
STRIPES = ("LUSTRE", -1, "/lus/f", {"STRIPE_SIZE": MIB, "STRIPE_COUNT": 8})


def posix(rank: int = -1, file: str = "/lus/f", **counters: Any) -> Record:
    return "POSIX", rank, file, counters


def found(tmp_path: Path, *records: Record, more: str = "") -> Mapping[str, Finding]:
    log = tmp_path / "log.txt"
    log.write_text(darshan_text(records) + more)
    return {one.id: one for one in findings_of(imported(log, tmp_path)[0]).findings}


LARGE: dict[str, Any] = {
    "WRITES": 400,
    "BYTES_WRITTEN": 1600 * MIB,
    "SIZE_WRITE_1M_4M": 400,
    "SEQ_WRITES": 396,
}
LARGE |= {"CONSEC_WRITES": 396, "F_WRITE_TIME": 40.0, "F_SLOWEST_RANK_TIME": 10.5}
LARGE |= {"F_FASTEST_RANK_TIME": 9.5, "SLOWEST_RANK_BYTES": 400 * MIB, "FILE_ALIGNMENT": MIB}
SLOW: dict[str, Any] = {**LARGE, "F_SLOWEST_RANK_TIME": 34.0, "SLOWEST_RANK": 3}
SMALL: dict[str, Any] = {"WRITES": 9000, "BYTES_WRITTEN": 9000 * 500, "SIZE_WRITE_100_1K": 9000}
SMALL |= {"ACCESS1_ACCESS": 500, "ACCESS1_COUNT": 9000, "SEQ_WRITES": 8990, "F_WRITE_TIME": 80.0}
SMALL |= {"F_SLOWEST_RANK_TIME": 21.0, "SLOWEST_RANK_BYTES": 2250 * 500}
TOGETHER: Record = ("MPI-IO", -1, "/lus/f", {"COLL_WRITES": 40, "BYTES_WRITTEN": 1600 * MIB})
ALONE: Record = ("MPI-IO", -1, "/lus/f",
         {"INDEP_WRITES": 9000, "BYTES_WRITTEN": 9000 * 500, "F_WRITE_TIME": 80.0,
          "F_SLOWEST_RANK_TIME": 21.0})  # fmt: skip
CASES: dict[str, tuple[set[str], list[Record]]] = {
    "large and aligned": (set(), [posix(**LARGE), STRIPES]),
    "as many bytes, longer": ({"imbalance"}, [posix(**SLOW)]),
    "small and shared": ({"small-writes"}, [posix(**SMALL)]),
    "small, made of collective ones": (
        {"ungathered-collectives"}, [posix(**SMALL), TOGETHER],
    ),
    "large, made of collective ones": (set(), [posix(**SLOW), TOGETHER]),
    "independent": ({"small-writes", "independent-transfers"}, [posix(**SMALL), ALONE]),
    "independent beside a few collective ones": (
        {"small-writes", "independent-transfers"},
        [posix(**SMALL), (*ALONE[:3], {**ALONE[3], "COLL_WRITES": 60})],
    ),
    "across stripes": ({"misaligned"}, [posix(**LARGE, FILE_NOT_ALIGNED=390), STRIPES]),
    "one stripe": (
        {"narrow-striping"},
        [posix(**LARGE), ("LUSTRE", -1, "/lus/f", {"STRIPE_SIZE": MIB, "STRIPE_COUNT": 1})],
    ),
    "back and forth": (
        {"random-reads"},
        [posix(READS=5000, BYTES_READ=5000 * 99_999, SEQ_READS=2500, SIZE_READ_100K_1M=5000,
               MAX_BYTE_READ=10**9, F_READ_TIME=30.0)],
    ),
    "a stride back": (
        set(),
        [posix(READS=5000, BYTES_READ=5000 * 99_999, SEQ_READS=0, SIZE_READ_100K_1M=5000,
               STRIDE1_STRIDE=-200_000, STRIDE1_COUNT=4998, MAX_BYTE_READ=10**9)],
    ),
    "read by all": (
        {"shared-reads"},
        [posix(READS=400, BYTES_READ=400 * MIB, SEQ_READS=396, SIZE_READ_100K_1M=400,
               MAX_BYTE_READ=100 * MIB, F_READ_TIME=9.0, F_SLOWEST_RANK_TIME=2.4)],
    ),
    "read again": (
        {"repeated-reads", "one-rank"},
        [posix(1, READS=40, BYTES_READ=400 * MIB, SEQ_READS=36, MAX_BYTE_READ=100 * MIB)],
    ),
    "metadata": (
        {"metadata-time", "many-opens"},
        [posix(2, OPENS=5000, WRITES=10, BYTES_WRITTEN=10, F_META_TIME=30.0, F_WRITE_TIME=0.1)],
    ),
    "metadata of all": (
        {"metadata-time"},
        [posix(OPENS=200, F_META_TIME=120.0, F_SLOWEST_RANK_TIME=30.0)],
    ),
    "a pipe that waits": (set(), [posix(1, OPENS=2, F_META_TIME=90.0)]),
    "one rank does it all": (
        {"one-rank"},
        [posix(0, WRITES=900, BYTES_WRITTEN=900 * MIB, SEQ_WRITES=899, F_WRITE_TIME=9.0),
         posix(1, "/lus/g", WRITES=1, BYTES_WRITTEN=5)],
    ),
    "asked, sought, synced": (
        {"many-queries", "many-seeks", "many-syncs"},
        [posix(0, STATS=5000, SEEKS=5000, WRITES=50, BYTES_WRITTEN=50, FSYNCS=40)],
    ),
    "small files": (
        {"small-files", "file-per-rank"},
        [posix(k % 4, f"/lus/{k:x}x", WRITES=1, BYTES_WRITTEN=9, MAX_BYTE_WRITTEN=8,
               F_WRITE_TIME=0.1) for k in range(200)],
    ),
    "stdio": (
        {"stdio-bulk"},
        [("STDIO", -1, "/lus/f", {"WRITES": 9, "BYTES_WRITTEN": 90 * MIB, "F_WRITE_TIME": 1.0})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_totals_show_what_calls_would(case: str, tmp_path: Path) -> None:
    ids, records = CASES[case]
    assert set(found(tmp_path, *records)) == ids


def test_a_straggler_with_as_many_bytes_is_called_that(tmp_path: Path) -> None:
    one = found(tmp_path, posix(**SLOW))["imbalance"]
    assert one.severity == "high" and one.evidence[0].ranks == (3,)
    assert "rank 3 spends 34 s in calls on it, the mean of 4 ranks 10 s" in one.evidence[0].text
    assert "as many bytes as others (400.0 MiB)" in one.evidence[0].text


def test_stripes_of_a_log_are_those_that_requests_are_held_against(tmp_path: Path) -> None:
    """Also where the log has calls: a file of that name on this machine says nothing."""
    calls = [
        ("POSIX", rank, "write", (4 * k + rank) * MIB + 999, MIB, k, k + 0.5)
        for rank in range(4)
        for k in range(20)
    ]
    one = found(tmp_path, STRIPES, more=dxt_text("/lus/f", calls))["misaligned"]
    assert "stripe of 1.0 MiB begin or end inside one" in one.evidence[0].text


def test_metadata_and_stragglers_of_a_log_with_calls(tmp_path: Path) -> None:
    calls = [("POSIX", rank, "write", rank * MIB, MIB, 1.0, 1.5) for rank in range(4)]
    ids = found(
        tmp_path,
        posix(OPENS=200, F_META_TIME=120.0, F_SLOWEST_RANK_TIME=30.0),
        more=dxt_text("/lus/f", calls),
    )
    assert set(ids) == {"metadata-time"}


@pytest.mark.parametrize(("form", "system"), [("darshan", "beegfs"), ("csv", "unknown")])
def test_a_logs_file_system_is_what_it_names_and_not_this_hosts(
    form: str, system: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "f")
    log = tmp_path / "log"
    if form == "darshan":
        log.write_text(darshan_text([posix(0, file, **LARGE)]).replace("\text4\n", "\tbeegfs\n"))
    else:
        log.write_text(f"rank,file,op,offset,length,start,end\n0,{file},write,0,4096,1.0,2.0\n")
    trace, _ = imported(log, tmp_path)
    assert Facts(trace).filesystem(file) == system
