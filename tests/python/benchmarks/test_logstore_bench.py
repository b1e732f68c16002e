"""The benchmark of the log store, small: every arm answers rightly, every count adds up."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

from support.repository import KERNELS, ROOT

SCRIPT = ROOT / "tests" / "bench" / "logstore" / "bench_logstore.py"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def found(out):
    if not (KERNELS / "logstore_index").exists():
        pytest.skip("NOT VERIFIED: the benchmark of the log store: it wants zlib, zstd and MPI")
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "run.py", SCRIPT, "--build", KERNELS.parent, "--out", out,
         "--quick", "1", "--rounds", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    # 1: a goal that so small a run misses.
    assert done.returncode in (0, 1), done.stderr
    path = out / "logstore.json"
    assert path.exists(), done.stderr
    return json.loads(path.read_text())


def values(found, *words):
    return {row["what"]: row["value"] for row in found["rows"]
            if all(word in row["what"] for word in words)}  # fmt: skip


def test_every_size_is_counted(found):
    plain = values(found, "the plain index, on disk")
    assert sorted(plain.values()) == [48 * 8 * writes for writes in (64, 128, 256)]
    ours = values(found, "in memory, names included")
    assert len(ours) == 3 and len(set(ours.values())) == 1, ours
    runs = found["rounds"]["sizes"]["runs"]
    assert [run["writes"] for run in runs.values()] == [64, 128, 256]


def test_all_four_ways_to_look_up_answered(found):
    numbers = found["rounds"]["look-ups"]["numbers"]
    assert set(numbers) == {"ours", "plain", "zlib", "disk"}
    assert all(row[0] > 0 for row in numbers.values())


def test_each_application_has_its_rates(found):
    rates = {name: row for name, row in found["rounds"].items() if name.startswith("rates ")}
    assert len(rates) == 6
    for name, row in rates.items():
        assert row["accesses"] > 0 and row["file_bytes"] < row["he2013_bytes"], (name, row)


def test_real_ranks_wrote_and_read(found):
    names = [name for name in found["rounds"] if name.startswith("runs: 2 ranks")]
    assert any(name.endswith("read transfer_s") for name in names), names
    numbers = found["rounds"][names[0]]["numbers"]
    assert {"ordinary", "plain"} <= set(numbers)


def test_figure_16_is_of_what_ranks_really_wrote(found, out):
    if "map MILC-A" not in found["rounds"]:
        pytest.skip("NOT VERIFIED: figure 16: this build has no log store")
    for name, writes in (("MILC-A", 8192), ("MILC-B", 16), ("MILC-C", 32)):
        with (out / "logstore-maps" / f"{name}.written.csv").open() as text:
            rows = list(csv.DictReader(text))
        assert len(rows) == writes == found["rounds"][f"map {name}"]["accesses"]
        assert len({row["writer"] for row in rows}) == 16
        assert all(int(row["time_ns"]) > 0 for row in rows)
