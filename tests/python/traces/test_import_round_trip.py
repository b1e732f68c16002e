"""What `iotune export` writes as CSV is read again without a loss: layers, places, odd names."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import iotune
from iotune.export import export_calls
from iotune.importing import import_log
from iotune.traces.call_filter import CallFilter
from iotune.traces.trace import Trace
from support.installed.import_logs import LOGS

COLUMNS = (
    *("rank", "layer", "level", "call", "file", "offset_bytes", "length_bytes"),
    *("start_ns", "duration_ns"),
)


def rows(trace: Path, *layers: str) -> list[tuple[Any, ...]]:
    """All calls but iotune's own notes."""
    frame = iotune.open_trace(trace).calls(layer=list(layers) or ["mpi", "posix", "stdio"])
    chosen = frame[list(COLUMNS)]
    plain = chosen.astype(object).where(chosen.notna(), None)
    return [tuple(row) for row in plain.itertuples(index=False)]


def again(trace: Path) -> Path:
    """The trace that an import makes of an export of `trace`."""
    table, made = trace.with_suffix(".csv"), trace.with_suffix(".again")
    export_calls(trace, "csv", str(table), CallFilter(), force=True)
    import_log(table, made, force=True)
    return made


def table_of(folder: Path, *lines: str) -> Path:
    log = folder / "log.csv"
    log.write_text("rank,file,op,offset,length,start,end,layer\n" + "\n".join(lines) + "\n")
    return log


def test_each_layer_of_a_table_is_that_layer(tmp_path: Path) -> None:
    log = table_of(
        tmp_path,
        "0,/f,fwrite,0,100,1.0,1.1,stdio",
        "0,/f,read,0,50,2.0,2.1,stdio",
        "0,/f,sync,,,3.0,3.1,stdio",
        "0,/g,write,10,20,4.0,4.1,mpiio",
        "0,/g,read,30,40,5.0,5.1,posix",
    )
    made = import_log(log, tmp_path / "t").trace
    moved = [row for row in rows(made) if row[6] is not None]
    assert [(row[1], row[3], row[5], row[6]) for row in moved] == [
        ("stdio", "fwrite", 0, 100),
        ("stdio", "fread", 0, 50),
        ("mpiio", "MPI_File_write_at", 10, 20),
        ("posix", "pread", 30, 40),
    ]
    calls = {row[3] for row in rows(made)}
    assert {"fopen", "fflush", "fclose", "MPI_File_open", "open", "close"} <= calls


def test_what_mpi_io_did_itself_lies_inside_of_its_call(tmp_path: Path) -> None:
    # given rows in no order of time, and of a call of MPI-IO the two writes that it made
    log = table_of(
        tmp_path,
        "0,/f,write,60,40,1.05,1.08,posix",
        "1,/f,write,0,10,1.01,1.02,posix",
        "0,/f,write,0,100,1.0,1.1,mpiio",
        "0,/f,write,0,60,1.01,1.04,posix",
    )
    made = import_log(log, tmp_path / "t").trace
    transfers = [row for row in rows(made) if "write" in row[3]]
    assert [(row[0], row[2], row[5], row[6]) for row in transfers] == [
        (0, 0, 0, 100),
        (0, 1, 0, 60),
        (1, 0, 0, 10),
        (0, 1, 60, 40),
    ]
    assert rows(again(made)) == rows(made)


# Names may hold everything but a zero byte; surrogates are bytes that are not UTF-8.
NAMES = st.text(
    st.one_of(
        st.sampled_from("a\n\r\t \"',;#\\\x01\x1b\x7f\x85\u2028\udc80\udcff"),
        st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]),
    ),
    min_size=1,
    max_size=12,
).map(lambda name: "/" + name)


@st.composite
def drawn_calls(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Calls of ranks, one behind the other; those of MPI-IO with calls of POSIX inside."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    calls: list[tuple[Any, ...]] = []
    for rank in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, 5))
        for _ in range(draw(st.integers(1, 5))):
            name = draw(st.sampled_from(names))
            layer = draw(st.sampled_from(["posix", "stdio", "mpiio"]))
            op = draw(st.sampled_from(["read", "write"]))
            offset, length = draw(st.integers(0, 1 << 40)), draw(st.integers(1, 1 << 20))
            calls.append((rank, name, op, offset, length, at, at + 100, layer))
            if layer == "mpiio" and draw(st.booleans()):
                half = length // 2
                calls.append((rank, name, op, offset, half, at + 10, at + 20, "posix"))
                rest = (offset + half, length - half)
                calls.append((rank, name, op, *rest, at + 30, at + 90, "posix"))
            at += 100 + draw(st.integers(0, 50))
    return calls


def written(folder: Path, calls: list[tuple[Any, ...]]) -> Path:
    log = folder / "drawn.csv"
    with log.open("w", newline="", encoding="utf-8", errors="surrogateescape") as to:
        lines = csv.writer(to, quoting=csv.QUOTE_ALL)
        # The columns of an export: names are exact.
        lines.writerow(
            ["rank", "process", "thread", "layer", "level", "call", "file", "offset_bytes",
             "length_bytes", "start_ns", "duration_ns", "time_kind"]
        )  # fmt: skip
        for rank, name, op, offset, length, start, end, layer in calls:
            inside = layer == "posix" and (end - start) < 100
            lines.writerow([rank, rank, 0, layer, int(inside), op, name, offset, length, start,
                            end - start, "exact"])  # fmt: skip
    return log


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn_calls())
def test_an_export_comes_back_whole(calls: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        first = import_log(written(folder, calls), folder / "first").trace
        kept = rows(first)
        moved = [(row[0], row[1], row[4], row[5], row[6]) for row in kept if _moves(row)]
        assert sorted(moved, key=repr) == sorted(
            [(one[0], one[7], one[1], one[3], one[4]) for one in calls], key=repr
        )
        assert rows(again(first)) == kept


def _moves(row: tuple[Any, ...]) -> bool:
    return "read" in row[3] or "write" in row[3]


def test_places_that_are_not_known_stay_so(tmp_path: Path) -> None:
    # given MPI-IO's transfers of which the log had no offsets, between others
    log = tmp_path / "log.csv"
    log.write_text(
        "rank,process,thread,layer,level,call,file,offset_bytes,length_bytes,start_ns,duration_ns,"
        "time_kind\n"
        "0,0,0,mpiio,0,MPI_File_write_at_all,/f,0,100,0,10,exact\n"
        "0,0,0,mpiio,0,MPI_File_write_at_all,/f,,100,20,10,exact\n"
        "0,0,0,mpiio,0,MPI_File_write_at,/f,200,100,40,10,exact\n"
    )
    made = import_log(log, tmp_path / "t").trace
    texts = [one.text for one in Trace(made).each_call(layer="mpi", call="MPI_File_write_at*")]
    assert ["[at 0+100]" in texts[0], "[at ?" in texts[1], "[at 200+100]" in texts[2]] == [True] * 3
    assert [name.split()[0] for name in texts] == [
        "MPI_File_write_at_all", "MPI_File_write_at_all", "MPI_File_write_at",
    ]  # fmt: skip
    assert rows(again(made), "mpi") == rows(made, "mpi")


def test_calls_of_one_layer_that_was_exported_alone_are_not_inside_each_other(
    tmp_path: Path,
) -> None:
    # given rows that were made inside of others, which the table has not
    log = tmp_path / "log.csv"
    log.write_text(
        "rank,process,thread,layer,level,call,file,offset_bytes,length_bytes,start_ns,duration_ns,"
        "time_kind\n"
        "0,0,0,posix,1,open,/f,,,0,3,exact\n"
        "0,0,0,stdio,0,fopen,/g,,,10,3,exact\n"
        "0,0,0,posix,2,pread,/f,0,100,20,2,exact\n"
        "0,0,0,posix,3,pread,/f,100,100,30,2,exact\n"
        "0,0,0,posix,2,close,/f,,,40,2,exact\n"
    )
    # when
    run = Trace(import_log(log, tmp_path / "t").trace)
    # then
    assert [one.depth for one in run.each_call(layer="posix")] == [0, 0, 0, 0]
    assert {one.path: one.bytes_read for one in run.summary.files} == {"/f": 200, "/g": 0}


def test_a_row_with_a_large_selection_is_no_endless_line(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    wide = "[" + "1, " * 100_000 + "1]"
    log.write_text(
        "rank,thread,layer,level,call,file,offset_bytes,length_bytes,start_ns,duration_ns,"
        "time_kind,arguments\n"
        f'0,0,hdf5,0,H5Dwrite,/f,,800,0,100,exact,"{wide}"\n'
        "0,0,posix,1,pwrite,/f,0,800,10,20,exact,{}\n"
    )
    done = import_log(log, tmp_path / "t")
    assert done.notes == ["1 record(s) left out: H5Dwrite (1)"]
    assert [row[2:4] for row in rows(done.trace) if "write" in row[3]] == [(0, "pwrite")]


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("trc_read", "pread"), ("trc_write", "pwrite"), ("trc_open", "open"),
        ("trc_release", "close"), ("trc_create", "open"), ("trc_fsync", "fsync"),
    ],
)  # fmt: skip
def test_fuse_tracer_prints_the_names_of_its_functions(
    tmp_path: Path, operation: str, call: str
) -> None:
    log = tmp_path / "log.trace"
    moves = operation in ("trc_read", "trc_write")
    place = "8192 4096" if moves else "NA NA"
    log.write_text(
        "node7 10 /m/f trc_open NA NA 1.0 1.1\nnode7 10 /m/f trc_write 0 512 1.2 1.3\n"
        f"node7 10 /m/f {operation} {place} 1.4 1.5\nnode7 10 /m/f trc_flush NA NA 1.6 1.7\n"
    )
    done = import_log(log, tmp_path / "t")
    assert done.format == "fuse" and done.notes == ["1 record(s) left out: trc_flush (1)"]
    made = [row for row in rows(done.trace) if row[3] == call]
    assert made and (not moves or made[-1][5:7] == (8192, 4096))


def test_kept_logs_come_back(tmp_path: Path) -> None:
    for number, log in enumerate(sorted(LOGS.iterdir())):
        made = import_log(log, tmp_path / f"{number}.iotrace").trace
        assert rows(again(made)) == rows(made), log
