"""`iotune import`: other tools' logs as traces of our own, and logs that are not what they seem."""

from __future__ import annotations

import json
import lzma
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import iotune
from iotune.importing import import_log
from iotune.importing.guess import NAMES, format_of
from support.installed.import_logs import LOGS, imported, rows, typed
from support.installed.peak_memory import PEAK_KIB

FORMS = {
    "fuse-tracer.log": "fuse",
    "accesses.csv": "csv",
    "recorder-old.txt": "recorder",
    "recorder-new": "recorder",
    "run.strace": "strace",
    "events.pfw": "dftracer",
    "darshan-parser.txt": "darshan-text",
}


@pytest.mark.parametrize(("name", "form"), FORMS.items())
def test_content_says_what_a_log_is(name: str, form: str) -> None:
    assert format_of(LOGS / name) == form


def test_fuse_tracer_lines(tmp_path: Path) -> None:
    trace, done = imported(LOGS / "fuse-tracer.log", tmp_path)
    pagoda = "/mnt/run/pagoda.nc"
    assert rows(trace, "pread", "pwrite") == [
        (0, "pread", pagoda, 0, 4096, 900_000, 450_000),
        (1, "pread", pagoda, 8192, 4096, 1_100_000, 700_000),
        (0, "pread", pagoda, 4096, 1024, 1_900_000, 100_000),
        (0, "pwrite", "/mnt/run/with blanks in it.nc", 100, 7, 2_400_000, 100_000),
        (2, "pwrite", pagoda, 0, 65536, 2_900_000, 1_000_000),  # pid 4711 of another host
    ]
    assert trace.metadata["start_unix_ns"] == 1355000000_000100000
    assert trace.metadata["ranks"] == 3 and trace.metadata["losses"] == []
    assert set(trace.processes["host"]) == {"", "node7"}
    assert done.notes == ["1 record(s) left out: getattr (1)"]
    summary = {file.path: file for file in trace.summary.files}
    assert summary[pagoda].bytes_read == 4096 + 4096 + 1024
    opens = rows(trace, "open")
    assert opens[0][5:] == (0, 120_000)  # the log's own; the others are made up, in no time
    assert {open[6] for open in opens[1:]} == {0}


def test_a_table(tmp_path: Path) -> None:
    trace, done = imported(LOGS / "accesses.csv", tmp_path)
    mib = 1 << 20
    assert rows(trace, "pread", "pwrite") == [
        (0, "pwrite", "/scratch/ckpt.bin", 0, mib, 100_000_000, 10_000_000),
        (1, "pwrite", "/scratch/ckpt.bin", mib, mib, 100_100_000, 10_900_000),
        (0, "pwrite", '/scratch/a "quoted", name', 12, 34, 150_000_000, 10_000),
        (1, "pread", "/scratch/ckpt.bin", 0, 512, 200_000_000, 100_000),
    ]
    assert trace.metadata["ranks"] == 2 and not done.notes


def test_an_export_of_ours_comes_back(tmp_path: Path) -> None:
    trace, _ = imported(LOGS / "fuse-tracer.log", tmp_path)
    table = tmp_path / "export.csv"
    text = typed(tmp_path, "export", str(trace.path), "--format", "csv", "-o", "-").stdout
    table.write_text(text)
    (tmp_path / "again").mkdir()
    again, _ = imported(table, tmp_path / "again")
    assert rows(again, "pread", "pwrite") == rows(trace, "pread", "pwrite")


@pytest.mark.parametrize("times", ["call", "pattern"])
def test_fewer_times_keep_all_accesses(tmp_path: Path, times: str) -> None:
    trace, _ = imported(LOGS / "fuse-tracer.log", tmp_path, times=times)
    (tmp_path / "exact").mkdir()
    exact, _ = imported(LOGS / "fuse-tracer.log", tmp_path / "exact")
    assert [row[:5] for row in rows(trace)] == [row[:5] for row in rows(exact)]


def test_places_up_to_the_last_that_a_file_can_have(tmp_path: Path) -> None:
    last = (1 << 63) - 1
    log = tmp_path / "far.csv"
    log.write_text(_HEAD + f"0,/f,read,{last - 5},5,1,2\n0,/f,read,{1 << 62},{1 << 62},3,4\n")
    with pytest.raises(iotune.Error):
        import_log(log, tmp_path / "past.iotrace")
    log.write_text(_HEAD + f"0,/f,read,{last - 5},5,1,2\n0,/f,read,5,{last - 5},3,4\n")
    trace, _ = imported(log, tmp_path)
    assert [row[3:5] for row in rows(trace, "pread")] == [(last - 5, 5), (5, last - 5)]


def test_numbers_as_tables_of_floats_have_them(tmp_path: Path) -> None:
    log = tmp_path / "floats.csv"
    log.write_text(
        _HEAD + "0,/f,read,4096.0,10.0,5.00679016e-06,1.5e-05\n0,/f,read,8192,10,1E+1,10.5\n"
    )
    trace, _ = imported(log, tmp_path)
    assert [row[3:] for row in rows(trace, "pread")] == [
        (4096, 10, 0, 15_000 - 5_006),
        (8192, 10, 10_000_000_000 - 5_006, 500_000_000),
    ]


def test_what_was_passed_over_is_said_where_nothing_is_left(tmp_path: Path) -> None:
    log = tmp_path / "0.txt"
    log.write_text("0.3 0.4 100 write ( 9 0x1 100 )\n")
    with pytest.raises(iotune.Error, match=r"no writes in it; 1 record\(s\) left out: write"):
        import_log(log, tmp_path / "made.iotrace")


def test_a_table_without_times_has_the_order_of_its_lines(tmp_path: Path) -> None:
    log = tmp_path / "bare.csv"
    log.write_text(
        "rank,file,op,offset,length\n"
        + "".join(f"{i % 2},/f,write,{100 - i},1\n" for i in range(6))
    )
    trace, done = imported(log, tmp_path)
    found = rows(trace, "pwrite")
    assert [row[3] for row in found] == [100, 99, 98, 97, 96, 95]
    assert {row[6] for row in found} == {0}
    assert "no column 'start'" in done.notes[0]
    # and with durations a process's calls follow each other
    log.write_text("file,op,offset,length,duration\n/f,read,5,1,2\n/f,read,0,1,1\n")
    (tmp_path / "long").mkdir()
    trace, _ = imported(log, tmp_path / "long")
    assert [(row[3], row[5], row[6]) for row in rows(trace, "pread")] == [
        (5, 0, 2_000_000_000),
        (0, 2_000_000_000, 1_000_000_000),
    ]


_ROWS = ("rank file op offset length start", "0 /a,b;c write 0 4096 0.5", "1 /f read 7 8 1.5")


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_columns_are_divided_by_what_the_head_line_has(tmp_path: Path, separator: str) -> None:
    log = tmp_path / "table.txt"
    rows_of_words = [
        [f'"{word}"' if separator in word else word for word in row.split()] for row in _ROWS
    ]
    lines = [separator.join(words) for words in rows_of_words]
    expected = [(0, "/a,b;c", 0, 4096, 0), (1, "/f", 7, 8, 1_000_000_000)]

    def read(name: str, text: str) -> list[tuple]:
        log.write_text(text)
        (tmp_path / name).mkdir()
        trace, done = imported(log, tmp_path / name)
        assert done.format == "csv"
        found = rows(trace, "pread", "pwrite")
        return [(rank, file, offset, length, at) for rank, _, file, offset, length, at, _ in found]

    assert read("plain", "\n".join(lines)) == expected
    # a blank behind each, Windows' marks, and empty columns at the end
    spaced = [f"{separator} ".join(words) + separator for words in rows_of_words[1:]]
    assert read("spaced", "\r\n".join(["\ufeff" + lines[0], *spaced])) == expected
    # as numpy writes a head, below other comments
    assert read("numpy", "# of a tool, v1\n# " + "\n".join(lines)) == expected
    assert read("said", "# of a tool, v1\n\n" + "\n".join(lines)) == expected
    if separator != ",":
        assert read("decimal", "\n".join(lines).replace(".5", ",5")) == expected


# What is wrong is named, with file and line, and nothing is left behind

_HEAD = "rank,file,op,offset,length,start,end\n"
_LINE = "17 /f read 0 4096 1.0 2.0\n"
_CALL = "0.1 0.2 pread 0 0 ( /f 0x1 100 0 )\n"
HOSTILE = {
    "negative length": (_HEAD + "0,/f,read,0,-5,1,2\n", "2: the length is -5"),
    "negative offset": (_HEAD + "0,/f,read,-1,5,1,2\n", "2: the offset is -1"),
    "end before start": (_HEAD + "0,/f,read,0,5,1,2\n0,/f,read,0,5,2,1\n", "3: ends 1 s before"),
    "absurd rank": (_HEAD + "99999999,/f,read,0,5,1,2\n", "2: rank 99999999"),
    "huge rank": (_HEAD + f"{10**30},/f,read,0,5,1,2\n", "2: the rank is"),
    "huge offset": (_HEAD + f"0,/f,read,{(1 << 63) - 1},5,1,2\n", "2: offset"),
    "missing column": ("rank,file,op,offset,start,end\n0,/f,read,0,1,2\n", "1: no column 'length'"),
    "no start in a row": (_HEAD + "0,/f,read,0,5,,2\n", "2: no start"),
    "a column twice": ("file,path,op,offset,length,start,end\n", "1: two columns say the file"),
    "columns by blanks": (
        "rank file op offset length\n0 /f read 0 5\n",
        "1: no column 'file': a head line names file, op, offset and length, with commas, tabs or",
    ),
    "columns by bars": ("rank|file|op|offset|length\n0|/f|read|0|5\n", "with commas, tabs or"),
    "another separator below": (_HEAD + "0;/f;read;0;5;1;2\n", "2: 1 columns"),
    "a comma in a path": (_HEAD + "0,/a,b,read,0,5,1,2\n", "2: 8 columns, and the head line has 7"),
    "tabs: a cut row": ("rank\tfile\top\toffset\tlength\n0\t/f\tread\t0\n", "2: 4 columns"),
    "comments, no head": ("# of a tool\n\nrank,file,op,offset\n0,/f,read,0\n", "3: no column"),
    "short row": (_HEAD + "0,/f,read,0\n", "2: 4 columns"),
    "no operation": (_HEAD + "0,/f,teleport,0,1,1,2\n", "2: the operation is 'teleport'"),
    "no path": (_HEAD + "0,,read,0,1,1,2\n", "2: a path of 0 bytes"),
    "open quote": (_HEAD + '0,"/f,read,0,1,1,2\n', "2: unexpected end"),
    "only a head": (_HEAD, "no reads and no writes"),
    "not a time": (_HEAD + "0,/f,read,0,5,now,2\n", "2: the start is 'now'"),
    "nan": (_HEAD + "0,/f,read,0,5,nan,2\n", "2: the start is 'nan'"),
    "cut line": (_LINE + "17 /f read 0 40", "2: not 'pid path op"),
    "fuse: negative": (_LINE + "17 /f read 0 -4 1.0 2.0\n", "2: the length is -4"),
    "fuse: backwards": (_LINE + "17 /f read 0 4 2.0 1.0\n", "2: ends 1 s before"),
    "fuse: a pid too large": (_LINE + f"{1 << 40} /f read 0 4 1.0 2.0\n", "2: the pid is"),
    "fuse: binary": (_LINE + "17 /f \0\x01\x02\n", "2: binary data"),
    "recorder: cut": (_CALL + "0.3 0.4 pread 0 0 ( /f 0x1 1", "2: '0.3 0.4 pread"),
    "recorder: few arguments": (_CALL + "0.3 0.4 pread 0 0 ( 100 0 )\n", "2: pread with 2"),
    "recorder: backwards": (_CALL + "0.4 0.3 pread 0 0 ( /f 0x1 9 0 )\n", "2: ends 0.1 s before"),
    "recorder: negative": (_CALL + "0.4 0.5 pread 0 0 ( /f 0x1 9 -7 )\n", "2: offset -7"),
    "recorder: whence": (_CALL + "0.4 0.5 lseek 0 0 ( /f 0 9 )\n", "2: whence is 9"),
    "nothing": ("", "neither Darshan's"),
    "prose": ("It was a dark and stormy night.\n", "neither Darshan's"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_logs_are_refused_by_name(tmp_path: Path, case: str) -> None:
    text, complaint = HOSTILE[case]
    log = tmp_path / "some.log"
    log.write_bytes(text.encode())
    with pytest.raises(iotune.Error) as caught:
        import_log(log, tmp_path / "made.iotrace")
    assert str(caught.value).startswith(str(log)) and "\n" not in str(caught.value)
    assert complaint in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["some.log"]


def test_pipes_and_packed_logs_are_read_or_refused_with_a_way_out(tmp_path: Path) -> None:
    pipe, packed = tmp_path / "pipe", tmp_path / "log.csv.xz"
    os.mkfifo(pipe)
    packed.write_bytes(lzma.compress((LOGS / "accesses.csv").read_bytes()))
    with pytest.raises(iotune.Error, match="no regular file"):
        iotune.open_trace(pipe)
    for log, way in ((pipe, "write it into one first"), (packed, "by xz: unpack it first")):
        with pytest.raises(iotune.Error, match=way) as caught:
            import_log(log, tmp_path / "made.iotrace")
        assert str(caught.value).startswith(str(log))


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    (tmp_path / "made.iotrace").write_text("mine")
    with pytest.raises(iotune.Error, match="--force"):
        import_log(LOGS / "accesses.csv", tmp_path / "made.iotrace")
    assert (tmp_path / "made.iotrace").read_text() == "mine"
    with pytest.raises(iotune.Error):
        import_log(LOGS / "nothing", tmp_path / "other.iotrace")
    import_log(LOGS / "accesses.csv", tmp_path / "made.iotrace", force=True)
    iotune.open_trace(tmp_path / "made.iotrace")


_MEASURED = """
import sys
from iotune.importing import import_log
from iotune import Error
try:
    import_log(sys.argv[1], sys.argv[2])
except Error as problem:
    print(problem)
print(PEAK_KIB)
""".replace("PEAK_KIB", PEAK_KIB)


@pytest.mark.parametrize("begin", ["1", "0,/f,read", _HEAD, _LINE, _CALL])
def test_a_line_of_a_gigabyte_needs_no_memory(tmp_path: Path, begin: str) -> None:
    log = tmp_path / "huge.log"
    with log.open("wb") as file:
        file.write(begin.encode())
        file.truncate(1 << 30)  # a hole
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(log), str(tmp_path / "made.iotrace")],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    said, peak_kib = done.stdout.splitlines()
    assert said.startswith(str(log)) and int(peak_kib) < 400 << 10
    assert [path.name for path in tmp_path.iterdir()] == ["huge.log"]


_WORDS = [
    b"",
    b"-1",
    b"0",
    b"99999999999999999999999",
    b"1e309",
    b"nan",
    b"\xff\xfe",
    b",",
    b"(",
    b")",
    b"09",
    b"\\9",
]


@pytest.mark.parametrize("name", [name for name in FORMS if "new" not in name])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_text_is_an_error_or_a_trace(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    lines = (LOGS / name).read_bytes().splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut = data.draw(st.integers(0, len(line)))
        word = data.draw(st.sampled_from(_WORDS) | st.binary(max_size=8))
        end = data.draw(st.integers(cut, min(len(line), cut + 12)))
        lines[at] = line[:cut] + word + line[end:]
    log = tmp_path / "log"
    log.write_bytes(b"".join(lines))
    target = tmp_path / "made.iotrace"
    target.unlink(missing_ok=True)
    try:
        done = import_log(log, target, format=FORMS[name])
    except iotune.Error as problem:
        assert str(problem).startswith(str(log)) and "\n" not in str(problem)
        assert [path.name for path in tmp_path.iterdir()] == ["log"]
        return
    trace = iotune.open_trace(target)
    assert sum(1 for _ in trace.each_call()) == done.calls == trace.raw_summary["calls"]
    # A damaged line of totals may leave calls without counters, and the other way round.
    known = ("ranks", "counters alone", "their mode is unknown", "no calls")
    losses = trace.metadata["losses"]
    assert all(any(part in one for part in known) for one in losses), losses


# The command


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("command", ["replay", "show", "explain"])
def test_commands_for_traces_name_the_import_for_a_log(
    tmp_path: Path, name: str, command: str
) -> None:
    said = typed(tmp_path, command, str(LOGS / name), status=1).stderr
    assert f"is not a trace of iotune but {NAMES[FORMS[name]]}: `iotune import" in said
    assert f"`iotune import {shlex.quote(str(LOGS / name))}`" in said


def test_transfers_that_moved_nothing_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "empty.csv"
    log.write_text(_HEAD + "".join(f"{rank},/f,write,{rank},0,1,2\n" for rank in range(4)))
    [trace] = json.loads(typed(tmp_path, "analyze", str(log), "--json").stdout)["traces"]
    assert (trace["accesses"], trace["empty"]) == (0, 4)
    said = typed(tmp_path, "analyze", str(log)).stderr
    assert "4 transfers failed or moved nothing" in said


def test_more_bytes_than_64_bits_count_are_no_remainder(tmp_path: Path) -> None:
    log = tmp_path / "all.csv"
    whole = (1 << 63) - 1
    log.write_text(_HEAD + "".join(f"{rank},/f,write,0,{whole},1,2\n" for rank in range(4)))
    trace, _ = imported(log, tmp_path)
    [file] = trace.summary.files
    assert file.bytes_written == (1 << 64) - 1
    assert "16.0 EiB or more written" in typed(tmp_path, "show", str(trace.path)).stdout
    [trace] = json.loads(typed(tmp_path, "analyze", str(log), "--json").stdout)["traces"]
    assert [one["bytes"] for one in trace["files"][0]["streams"]] == [(1 << 64) - 1]


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    said = typed(tmp_path, "replay", "folder", status=1).stderr
    assert said == "iotune: folder: Is a directory\n"


def test_the_command_names_its_file_after_the_log(tmp_path: Path) -> None:
    said = typed(tmp_path, "import", str(LOGS / "accesses.csv")).stderr
    assert "iotune show accesses.csv.iotrace" in said
    shown = typed(tmp_path, "show", "accesses.csv.iotrace").stdout
    assert "/scratch/ckpt.bin   2.0 MiB written, 512 B read" in shown
    said = typed(tmp_path, "import", str(LOGS / "accesses.csv"), status=1).stderr
    assert said == "iotune: accesses.csv.iotrace is there already; --force replaces it\n"
