"""Replays of maps: which rank writes which bytes, as plans and for real."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.errors import Error
from iotune.replay.map_plan import is_map, write_map_plan
from iotune.replay.mpi import find_mpi
from iotune.replay.replayer import find_call_replayer
from support.installed.json_schemas import conforming

pytestmark = pytest.mark.mpi

HEAD = "writer,rank,offset,length,time_ns,physical\n"


def plan(folder: Path, text: str, **how) -> list[str]:
    source = folder / "some map.csv"
    source.write_text(text)
    assert is_map(source)
    to = io.StringIO()
    write_map_plan(source, to, **how)
    return to.getvalue().splitlines()


def calls(lines: list[str], rank: int) -> list[str]:
    """A rank's lines without its number."""
    start = f"{rank} "
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


def test_each_rank_writes_in_the_order_of_its_times(tmp_path):
    text = HEAD + "b,1,100,10,5,0\na,0,0,10,7,0\nb,1,110,20,3,0\na,0,50,1,6,0\n"
    lines = plan(tmp_path, text)
    assert lines[:3] == ["iotune-calls 1", "ranks 2", "file 0 f0-some_map 0"]
    assert calls(lines, 0) == ["open 0 0 0", "write 0 50 1 0", "write 0 0 10 0", "close 0 0"]
    assert calls(lines, 1) == ["open 0 0 0", "write 0 110 20 0", "write 0 100 10 0", "close 0 0"]
    kept = plan(tmp_path, text, pause=lambda gap: 10 * gap)
    assert calls(kept, 1)[2] == "write 0 100 10 20"


def test_reads_are_of_a_file_that_is_made_first(tmp_path):
    lines = plan(tmp_path, HEAD + "a,0,5,10,1,0\na,0,90,10,2,10\n", read=True, mpiio=True)
    assert lines[1:4] == ["ranks 1", "file 0 f0-some_map 100", "group 0 0"]
    assert calls(lines, 0) == [
        "mpi-open 0 0 0 0", "mpi-read 0 5 10 0", "mpi-read 0 90 10 0", "mpi-close 0 0",
    ]  # fmt: skip


def test_ranks_without_a_write_still_open_with_the_others(tmp_path):
    lines = plan(tmp_path, HEAD + "a,2,5,10,1,0\n", mpiio=True)
    assert [calls(lines, rank)[0] for rank in range(3)] == ["mpi-open 0 0 0 0"] * 3
    assert calls(plan(tmp_path, HEAD + "a,2,5,10,1,0\n"), 0) == []


@pytest.mark.parametrize(
    "head",
    ["# id\tlogical_offset\tsize\tbegin_timestamp\tother", "BYTES;Offset;pid;time;x",
     '"length", "offset" , "chunk_id", "time", more'],
)  # fmt: skip
def test_other_tools_columns_are_known_by_name(tmp_path, head):
    separator = "\t" if "\t" in head else ";" if ";" in head else ","
    names = head.lstrip("# ").replace('"', "").lower().split(separator)
    values = {"id": "w7", "pid": "w7", "chunk_id": "w7", "logical_offset": "30", "offset": "30",
              "size": "4", "bytes": "4", "length": "4", "begin_timestamp": "0.25",
              "time": "0.25"}  # fmt: skip
    row = separator.join(values.get(name.strip(), "?") for name in names)
    lines = plan(tmp_path, f"{head}\n\n# a comment\n{row}\n")
    assert calls(lines, 0)[1:2] == ["write 0 30 4 0"]


def test_writers_are_ranks_where_a_rank_is_missing(tmp_path):
    lines = plan(tmp_path, HEAD + "x,-1,0,1,1,0\ny,,1,1,1,0\nx,-1,2,1,2,1\n")
    assert lines[1] == "ranks 2"
    assert calls(lines, 0)[1:3] == ["write 0 0 1 0", "write 0 2 1 0"]
    assert calls(lines, 1)[1:2] == ["write 0 1 1 0"]


def test_on_fewer_ranks_nothing_is_lost(tmp_path):
    text = HEAD + "".join(f"w{r},{r},{10 * r},10,{r},0\n" for r in range(7))
    lines = plan(tmp_path, text, ranks=3)
    assert sum(" write " in line for line in lines) == 7
    assert calls(lines, 1)[1:3] == ["write 0 10 10 0", "write 0 40 10 0"]


@pytest.mark.parametrize(
    "text, words",
    [
        (HEAD, "the map has no writes"),
        (HEAD + "a,0,0,0,1,0\n", "the map has no writes"),
        (HEAD + "a,0,0,10,1,0\na,0,x,10,1,0\n", ":3: the offset is 'x'"),
        (HEAD + "a,0,-1,10,1,0\n", ":2: the offset is -1"),
        (HEAD + "a,0,0,1.5,1,0\n", ":2: the length is '1.5'"),
        (HEAD + f"a,0,{2**63 - 10},11,1,0\n", ":2: the length is 11"),
        (HEAD + f"a,0,{2**70},1,1,0\n", ":2: the offset is"),
        (HEAD + "a,7000000,0,1,1,0\n", ":2: the rank is 7000000"),
        (HEAD + "a,0,0,1\n", ":2: 4 columns, and 'time_ns' is the 5th"),
        (HEAD + "a,0,0,1,1,0,9\n", ":2: 7 columns, and the head line has 6"),
        (HEAD + ",0,0,1,1,0\n", ":2: the writer is empty"),
        (HEAD + "a,0,0,1,1,0\na,1,0,1,1,0\n", ":3: writer 'a' is rank 1, and was 0"),
        (HEAD + 'a,0,0,"1,1,0\n', ":2: unexpected end of data"),
        ("offset,length\n1,2\n", ":1: no column 'writer' or 'rank'"),
        ("rank,offset,logical_offset,length\n", ":1: two columns say the offset"),
        ("rank,offset,length\n,1,2\n", ":2: no rank, and no column of writers"),
        ("rank,time,offset,length\n0,soon,1,2\n", ":2: the time is 'soon'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, words):
    with pytest.raises(Error, match=r".") as wrong:
        plan(tmp_path, text)
    assert words in str(wrong.value), wrong.value


@pytest.mark.parametrize("text", ["file,op,offset,length\n", "iotune-calls 1\n", "a\0b\n", ""])
def test_other_inputs_are_no_maps(tmp_path, text):
    (tmp_path / "x").write_text(text)
    assert not is_map(tmp_path / "x")


def replay(source: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "iotune", "replay", str(source), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_command_line_that_asks_for_something_else_is_refused(tmp_path):
    source = tmp_path / "map.csv"
    source.write_text(HEAD + "a,0,0,1,1,0\n")
    for words in (("--layer", "posix"), ("--file", "x"), ("--verify",)):
        done = replay(source, *words)
        assert done.returncode != 0 and "Traceback" not in done.stderr, done
    text = tmp_path / "calls.plan"
    text.write_text("iotune-calls 1\nranks 1\n")
    done = replay(text, "--read")
    assert done.returncode != 0 and "--read is for maps" in done.stderr, done


@pytest.mark.parametrize("form", [(), ("--mpiio",)])
def test_the_bytes_of_a_map_are_written_for_real(tmp_path, form):
    """By the plan's own program: the file reaches where the map does, and no other place."""
    mpi = find_mpi()
    if mpi.compiler is None:
        pytest.skip("NOT VERIFIED: replays of maps: there is no mpicc")
    draw = random.Random(42)
    places = draw.sample(range(200), 60)
    source = tmp_path / "map.csv"
    rows = [f"w{k % 3},{k % 3},{4096 * (place + 1)},100,{k},0\n" for k, place in enumerate(places)]
    source.write_text(HEAD + "".join(rows))
    done = replay(source, "--dir", str(tmp_path), "--json", *form)
    assert done.returncode == 0, done.stderr
    said = conforming("replay", done.stdout)
    assert (said["bytes"], said["ranks"]) == (6000, 3), said
    to = io.StringIO()
    write_map_plan(source, to, mpiio=bool(form))
    (tmp_path / "map.plan").write_text(to.getvalue())
    (tmp_path / "files").mkdir()
    subprocess.run(
        [*mpi.command(3), str(find_call_replayer(mpi)), "--file-dir", str(tmp_path / "files"),
         str(tmp_path / "map.plan")], check=True, capture_output=True,
    )  # fmt: skip
    (file,) = (tmp_path / "files").iterdir()
    held = file.read_bytes()
    assert len(held) == 4096 * (max(places) + 1) + 100
    written = {place for place in range(200) if any(held[4096 * (place + 1) :][:100])}
    assert not any(held[:4096])
    assert written == set(places)
