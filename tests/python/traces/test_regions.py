"""Regions that a Python program marks, and what show, export and open_trace make of them."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iotune
from iotune import core
from iotune.reports.show_regions import longest
from iotune.traces import regions
from iotune.traces.call_meaning import meaning_of
from iotune.traces.regions import REGION_COLUMNS, each_region
from iotune.traces.summary import RegionPattern

PROGRAM = """
import os, sys, threading
import iotune

@iotune.annotate("save")
def save(path):
    "Its text."
    with open(path, "wb", buffering=0) as file:
        file.write(b"x" * 5000)
    return path

assert save.__name__ == "save" and save.__doc__ == "Its text."
for number in range(3):
    with iotune.annotate("epoch", number):
        assert save(f"epoch-{number}") == f"epoch-{number}"
try:
    with iotune.annotate("failing"):
        raise ValueError
except ValueError:
    pass

def work(number):
    for turn in range(300):
        with iotune.annotate("turn", turn):
            save(f"thread-{number}")

threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
[one.start() for one in threads]
[one.join() for one in threads]
with iotune.annotate("parent"):
    child = os.fork()
    if child == 0:
        with iotune.annotate("child"):
            save("child")
        os._exit(0)
    os.waitpid(child, 0)
heavy = {"numpy", "pandas", "typer", "rich", "json", "iotune._core"} & set(sys.modules)
assert not heavy, heavy
print("done")
"""


def environment(home: Path) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    buffers = home / "buffers"
    buffers.mkdir(mode=0o700, exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("IOTUNE_")},
        "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "IOTUNE_DB": "none",
        "XDG_DATA_HOME": str(home / "data"), "IOTUNE_BUFFER_DIR": str(buffers),
    }  # fmt: skip


def iotune_says(home: Path, *words: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "iotune", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=home, env=environment(home),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("regions")
    (home / "program.py").write_text(PROGRAM)
    path = home / "run.iotrace"
    done = iotune_says(home, "run", "-o", path, "--", sys.executable, "program.py")
    assert done.stdout == "done\n"
    yield path


def test_without_a_preload_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment(tmp_path),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_the_sums(trace: Path) -> None:
    run = iotune.open_trace(trace).summary
    found = {tuple(one.path): one for one in run.regions}
    assert found["epoch",].entered == 3 and found["epoch",].bytes_written == 15000
    assert found["epoch", "save"].bytes_written == 15000
    assert found["failing",].entered == 1 and found["failing",].open == 0
    assert found["turn",].entered == 600 and found["turn", "save"].bytes_written == 600 * 5000
    assert found["child",].processes == 1 and found["child", "save"].bytes_written == 5000
    assert found["parent",].bytes_written == 0 and found["parent",].open == 0
    for one in found.values():
        assert 0 <= one.io_seconds <= one.seconds
    assert [one.path for one in run.regions[:2]] == [["epoch"], ["epoch", "save"]]


def test_the_entries(trace: Path) -> None:
    entries = list(each_region(trace))
    epochs = [one for one in entries if one.path == ("epoch",)]
    assert [one.value for one in epochs] == [0, 1, 2]
    assert all(one.begin_ns <= one.end_ns and one.region_ns > 0 for one in epochs)
    turns = [one for one in entries if one.path == ("turn",)]
    assert sum(one.entered for one in turns) == 600
    assert {one.is_sum for one in turns} == {True, False}
    saves = [one for one in entries if one.path == ("epoch", "save")]
    for inner, outer in zip(saves, epochs):
        assert outer.begin_ns <= inner.begin_ns and inner.end_ns <= outer.end_ns
        assert inner.value is None and inner.bytes_written == 5000


def test_show_has_a_section(trace: Path) -> None:
    text = iotune_says(trace.parent, "show", trace).stdout
    assert "regions of the program" in text
    rows = {line.split()[0]: line.split() for line in text.split("regions of the program")[1]
            .splitlines() if line.strip()}  # fmt: skip
    assert rows["epoch"][1] == "3" and rows["turn"][1] == "600"
    reported = json.loads(iotune_says(trace.parent, "show", trace, "--json").stdout)
    assert ["epoch", "save"] in [one["path"] for one in reported["regions"]]


def test_exports(trace: Path) -> None:
    home = trace.parent
    text = iotune_says(home, "export", trace, "--regions", "-o", "-").stdout
    rows = list(csv.DictReader(text.splitlines()))
    assert tuple(rows[0]) == REGION_COLUMNS
    assert [row["value"] for row in rows if row["region"] == "epoch"] == ["0", "1", "2"]
    few = iotune_says(home, "export", trace, "--regions", "--limit", "2", "-o", "-").stdout
    assert len(few.splitlines()) == 3

    out = home / "run.perfetto.json"
    iotune_says(home, "export", trace, "--format", "perfetto", "-o", out)
    events = json.loads(out.read_text())["traceEvents"]
    slices = [one for one in events if one.get("cat") == "region" and one["ph"] == "X"]
    assert [one["args"]["value"] for one in slices if one["name"] == "epoch"] == [0, 1, 2]
    begun = [one["id"] for one in events if one["ph"] == "b"]
    assert begun and sorted(begun) == sorted(one["id"] for one in events if one["ph"] == "e")
    names = [one["args"]["name"] for one in events if one["name"] == "thread_name"]
    assert "regions of thread 0" in names
    refused = subprocess.run(
        [sys.executable, "-m", "iotune", "export", str(trace), "--regions", "--format", "perfetto"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2 and "--regions" in refused.stderr


def test_frames_and_parquet(trace: Path) -> None:
    pytest.importorskip("pandas")
    frame = iotune.open_trace(trace).regions
    assert tuple(frame.columns) == REGION_COLUMNS
    assert int(frame[frame["region"] == "turn"]["entered"].sum()) == 600
    parquet = pytest.importorskip("pyarrow.parquet")
    out = trace.parent / "regions.parquet"
    iotune_says(trace.parent, "export", trace, "--regions", "--format", "parquet", "-o", out)
    table = parquet.read_table(out).to_pandas()
    assert table["region"].tolist() == frame["region"].tolist()
    assert table["bytes_written"].tolist() == frame["bytes_written"].tolist()


def test_the_report_has_a_section(trace: Path) -> None:
    pytest.importorskip("jinja2")
    out = trace.parent / "run.html"
    iotune_says(trace.parent, "report", trace, "-o", out)
    text = out.read_text()
    assert 'id="regions"' in text and "When the program was in which region" in text
    assert "epoch / save" in text


def test_a_trace_without_regions_has_no_section(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("open('a', 'wb').write(b'x' * 5000)")
    path = tmp_path / "run.iotrace"
    iotune_says(tmp_path, "run", "-o", path, "--", sys.executable, "plain.py")
    assert "regions of the program" not in iotune_says(tmp_path, "show", path).stdout
    done = iotune_says(tmp_path, "export", path, "--regions", "-o", "-")
    assert done.stdout == ",".join(REGION_COLUMNS) + "\n"
    assert "marked no regions" in done.stderr


@pytest.mark.parametrize("wrong", [None, b"bytes", 7])
def test_a_name_is_a_text(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a region's name is a text"):
        iotune.annotate(wrong)


def test_a_value_is_a_whole_number_of_64_bits() -> None:
    with pytest.raises(TypeError):
        iotune.annotate("epoch", 1.5)  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match="64 bits"):
        iotune.annotate("epoch", 2**63)


def test_ranges_of_nvtx(tmp_path: Path) -> None:
    """NVTX's own Python package, which has its header compiled in."""
    if importlib.util.find_spec("nvtx") is None:
        print("NOT VERIFIED: the package nvtx is not installed; a stand-in is tested (nvtx)")
        pytest.skip("no nvtx")
    (tmp_path / "ranges.py").write_text(
        "import nvtx\n"
        "for number in range(3):\n"
        "    with nvtx.annotate('batch', payload=number, domain='loader'):\n"
        "        open('a', 'wb').write(b'x' * 5000)\n"
        "nvtx.push_range('plain')\n"
        "nvtx.pop_range()\n"
    )
    path = tmp_path / "run.iotrace"
    iotune_says(tmp_path, "run", "-o", path, "--", sys.executable, "ranges.py")
    found = {tuple(one.path): one for one in iotune.open_trace(path).summary.regions}
    assert found["batch",].bytes_written == 15000 and found["plain",].entered == 1
    values = [one.value for one in each_region(path) if one.path == ("batch",)]
    assert values == [0, 1, 2]


def test_of_many_regions_the_longest_are_shown_with_those_around_them() -> None:
    regions = [RegionPattern(path=["all"], slowest_seconds=0.0)]
    regions += [RegionPattern(path=["all", str(i)], slowest_seconds=float(i)) for i in range(9)]
    assert [one.name for one in longest(regions, 3)] == ["all", "7", "8"]
    assert longest(regions, 10) == regions


def test_an_end_without_its_begin_ends_no_other_region(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its begin was lost, or lies before a fork: the regions around it stay open."""

    def marked(call: str, region: int, at_ns: int) -> dict[str, Any]:
        reported = {"region": region, "name": f"r{region}", "parent": 0, "value": -(2**63),
                "region_ns": 1, "io_ns": 0, "calls": 0, "bytes_read": 0,
                "bytes_written": 0}  # fmt: skip
        return {"rank": 0, "process": 0, "thread": 0, "call": call, "start_ns": at_ns,
                "arguments": json.dumps(reported)}  # fmt: skip

    begin, end = (
        next(str(one["name"]) for one in core.call_table() if meaning_of(one["name"]).thing == what)
        for what in ("region_begin", "region_end")
    )
    rows = [marked(begin, 1, 10), marked(begin, 2, 20), marked(end, 3, 30), marked(end, 2, 40)]

    class Batch:
        def values(self, column: str) -> list[Any]:
            return [row[column] for row in rows]

    monkeypatch.setattr(regions, "CallReader", lambda *_: [Batch()])
    found = [(one.path, one.begin_ns, one.is_open) for one in each_region(tmp_path / "no trace")]
    assert found == [(("r3",), 29, False), (("r2",), 39, False), (("r1",), 10, True)]
