"""`iotune import` of Recorder's text: what its calls say, and what follows from those before."""

from __future__ import annotations

import re
from pathlib import Path

from support.installed.import_logs import LOGS, imported, rows


def test_recorder_with_descriptors_and_results(tmp_path: Path) -> None:
    trace, done = imported(LOGS / "recorder-old.txt", tmp_path)
    assert [row[1:5] for row in rows(trace, "pread", "pwrite")] == [
        ("pwrite", "/g/user/datafile", 4096, 20000),
        ("pread", "/g/user/datafile", 24096, 100),  # behind the write; 100 of 4000 were there
        ("pread", "/g/user/datafile", 256, 40),
    ]
    calls = {call.name: call for call in trace.each_call(layer="mpi")}
    assert "[at 0+20000]" in calls["MPI_File_write_at"].text
    assert "[at 256+40]" in calls["MPI_File_read_at"].text
    inner = [call.depth for call in trace.each_call(layer="posix", call="pread")]
    assert inner == [1, 1]  # both on a descriptor that MPI-IO opened for itself
    # What an inner open opened is noted inside too: a replay of MPI-IO does not open it again.
    notes = trace.calls(layer="iotune", call="iotune_file")
    assert list(notes["level"]) == [1, 0]
    assert "open, failed (1)" in done.notes[0]


def test_recorder_with_paths(tmp_path: Path) -> None:
    trace, _ = imported(LOGS / "recorder-new", tmp_path)
    assert [row[:5] for row in rows(trace, "pread", "pwrite")] == [
        (0, "pwrite", "/g/user/out put", 0, 300),
        (0, "pwrite", "/g/user/out put", 300, 48),  # O_APPEND: the seek means nothing
        (0, "pwrite", "/g/user/shared", 512, 256),
        (1, "pwrite", "/g/user/log.txt", 0, 17),
        (1, "pwrite", "/g/user/log.txt", 17, 8),
    ]
    [write] = trace.each_call(layer="mpi", call="MPI_File_write_at_all")
    assert "[at ?" in write.text  # the log has no types of views


def test_positions_that_recorder_does_not_say(tmp_path: Path) -> None:
    """Append, truncation, and seeks of all kinds, by POSIX, stdio and MPI-IO."""
    log = tmp_path / "0.txt"
    calls = [
        ("open ( /f 66 384 )", 3),
        ("write ( 3 0x1 100 )", 100),
        ("open ( /f 1090 384 )", 4),  # O_APPEND: reads begin at 0
        ("read ( 4 0x1 10 )", 10),
        ("write ( 4 0x1 5 )", 5),
        ("lseek ( 3 -20 2 )", 85),  # from the end: its result says where
        ("write ( 3 0x1 1 )", 1),
        ("fopen ( /g r+ )", "0x5"),
        ("fseeko ( 0x5 300 0 )", 0),
        ("fread ( 0x1 2 4 0x5 )", 4),
        ("fseek ( 0x5 -8 1 )", 0),
        ("fwrite ( 0x1 1 3 0x5 )", 3),
        ("open ( /f 578 384 )", 5),  # O_TRUNC: the next one appends at 0
        ("open ( /f 1090 384 )", 6),
        ("write ( 6 0x1 9 )", 9),
        ("MPI_File_open ( 0x1 /m 9 0x2 0x9 )", 0),
        ("MPI_File_seek ( 0x9 40 600 )", 0),
        ("MPI_File_write ( 0x9 0x1 2 MPI_INT [] )", 0),
        ("MPI_File_seek ( 0x9 -4 602 )", 0),
        ("MPI_File_write ( 0x9 0x1 1 MPI_INT [] )", 0),
        ("MPI_File_seek ( 0x9 0 604 )", 0),
        ("MPI_File_write ( 0x9 0x1 1 MPI_INT [] )", 0),
        ("MPI_File_set_view ( 0x9 1000 MPI_INT MPI_INT native 0x7 )", 0),
        ("MPI_File_write ( 0x9 0x1 3 MPI_INT [] )", 0),
        ("MPI_File_write ( 0x9 0x1 1 MPI_INT [] )", 0),
        ("MPI_File_write_at ( 0x9 5 0x1 1 MPI_INT [] )", 0),
        ("MPI_File_set_view ( 0x9 0 MPI_INT vector native 0x7 )", 0),
        ("MPI_File_write ( 0x9 0x1 1 MPI_INT [] )", 0),
        ("MPI_File_set_view ( 0x9 0 MPI_BYTE MPI_BYTE native 0x7 )", 0),
        ("MPI_File_write_at ( 0x9 5 0x1 1 MPI_INT [] )", 0),
    ]
    log.write_text("".join(f"{i}.0 {i}.5 {got} {call}\n" for i, (call, got) in enumerate(calls)))
    trace, _ = imported(log, tmp_path)
    assert [row[1:5] for row in rows(trace, "pread", "pwrite")] == [
        ("pwrite", "/f", 0, 100),
        ("pread", "/f", 0, 10),
        ("pwrite", "/f", 100, 5),
        ("pwrite", "/f", 85, 1),
        ("pread", "/g", 300, 8),
        ("pwrite", "/g", 300, 3),
        ("pwrite", "/f", 0, 9),
    ]
    places = [call.text for call in trace.each_call(layer="mpi", call="MPI_File_write_at")]
    assert [re.findall(r"\[at ([^\]:]*)", text)[0] for text in places] == [
        *("40+8", "44+4", "?", "1000+12", "1012+4", "1020+4", "?", "5+4"),
    ]


def test_recorder_s_functions_of_the_program_are_passed_over(tmp_path: Path) -> None:
    """They are called after symbols, or where there is none after the program's file."""
    log = tmp_path / "0.txt"
    log.write_text(
        "0.1 0.5 /opt/app/a.out 0 4 ( )\n0.2 0.4 _ZN3app4dumpEv 1 4 ( )\n"
        + "0.6 0.7 pread 0 0 ( /f 0x1 100 0 )\n"
    )
    trace, done = imported(log, tmp_path)
    assert [row[2:5] for row in rows(trace, "pread")] == [("/f", 0, 100)]
    assert done.notes == ["2 record(s) left out: /opt/app/a.out (1), _ZN3app4dumpEv (1)"]


def test_a_call_of_any_bytes_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "0.txt"
    text = (LOGS / "recorder-new" / "0.txt").read_bytes()
    log.write_bytes(text + b"0.9000000 0.9001000 wr\xffite 0 0 ( /g/user/out put 0x55aa00 300 )\n")
    _, done = imported(log, tmp_path)
    assert any("wr\\xffite (1)" in note for note in done.notes)
