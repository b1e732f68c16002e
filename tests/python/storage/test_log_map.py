"""`iotune log map`: all writes as lines, and drawn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.logstore import LogMap, compact
from support.log_containers import add_writer, make_container


def run(*words: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", *map(str, words)], capture_output=True, check=False
    )


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = make_container(tmp_path / "file")
    add_writer(path, "node1.10.0", [(0, b"hello"), (3, b"LO")], first_ns=1000)
    add_writer(path, "node2.11.0", [(7, b"world"), (0, b"H")], first_ns=2000)
    return path


LINES = [
    "writer,rank,offset,length,time_ns,physical",
    "node1.10.0,,0,5,1000,0",
    "node1.10.0,,3,2,1001,5",
    "node2.11.0,,7,5,2000,0",
    "node2.11.0,,0,1,2001,5",
]


def test_the_map_has_every_write(kept: Path, tmp_path: Path) -> None:
    assert run("log", "map", kept).stdout.decode().splitlines() == LINES
    output = tmp_path / "map.csv"
    assert run("log", "map", kept, "-o", output).returncode == 0
    assert output.read_text().splitlines() == LINES
    assert run("log", "map", kept, "-o", output).returncode == 1
    assert list(LogMap(kept).csv(rows=3))[1].count(b"\n") == 3


def test_a_replay_takes_it(kept: Path, tmp_path: Path) -> None:
    output = tmp_path / "map.csv"
    assert run("log", "map", kept, "-o", output).returncode == 0
    plan = run("replay", output, "--plan-only").stdout.decode()
    assert "0 write 0 0 5" in plan
    assert "1 write 0 7 5" in plan


def test_what_was_compacted_has_no_times(kept: Path) -> None:
    compact(kept)
    done = run("log", "map", kept)
    assert done.stdout.decode().splitlines() == [
        "writer,rank,offset,length,physical",
        "node2.11.0,,0,1,5",
        "node1.10.0,,1,2,1",
        "node1.10.0,,3,2,5",
        "node2.11.0,,7,5,0",
    ]
    assert b"no times" in done.stderr


def test_it_is_drawn(kept: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawing = tmp_path / "map.svg"
    done = run("log", "map", kept, "--draw", drawing)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    figure = drawing.read_text()
    assert "seconds since the first write" in figure
    assert "file: 4 writes of 2 writers" in figure
    assert run("log", "map", kept, "--draw", drawing).returncode == 0
    assert drawing.read_text() == figure


def test_writes_shorter_than_a_dot_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = make_container(tmp_path / "file")
    add_writer(path, "a", [(k << 20, b"x") for k in range(100)], first_ns=0)
    drawing = tmp_path / "map.svg"
    assert run("log", "map", path, "--draw", drawing).returncode == 0
    heights = []
    for move in re.findall(
        r'<path d="M ([\d.]+ [\d.]+) \nL ([\d.]+ [\d.]+) \n" clip-path', drawing.read_text()
    ):
        (x, y), (to_x, to_y) = (map(float, point.split()) for point in move)
        heights.append(abs(y - to_y) if x == to_x else 0)
    assert len(heights) == 200
    assert min(heights) > 0.5
