"""`iotune import` of what a log counted: totals beside calls, and traces without any call."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import iotune
from iotune.importing import import_log
from iotune.schemas import schema
from iotune.traces.log_totals import summarized
from support.installed.darshan_texts import Record, darshan_text, dxt_text
from support.installed.import_logs import imported, typed

MIB = 1 << 20
SHARED = {"OPENS": 4, "WRITES": 40, "BYTES_WRITTEN": 40 * MIB, "F_WRITE_TIME": 2.0}
SHARED |= {"F_META_TIME": 0.4, "F_SLOWEST_RANK_TIME": 0.9, "SLOWEST_RANK": 2}
SHARED |= {"F_FASTEST_RANK_TIME": 0.1, "SLOWEST_RANK_BYTES": 10 * MIB}
SHARED |= {"ACCESS1_ACCESS": MIB, "ACCESS1_COUNT": 40, "STRIDE1_STRIDE": 3 * MIB}
SHARED |= {"STRIDE1_COUNT": 36, "CONSEC_WRITES": 0, "SEQ_WRITES": 36, "SIZE_WRITE_1M_4M": 40}


def wheel_logs() -> list[Path]:
    found = importlib.util.find_spec("darshan")
    if found is None or found.origin is None:
        return []
    paths = Path(found.origin).parent.rglob("*.darshan")
    return [*{path.name: path for path in sorted(paths)}.values()]


def of_pydarshan(log: Path) -> tuple[int, int]:
    """Bytes written and read: of POSIX, or of stdio where the log has no POSIX."""
    import darshan

    report = darshan.DarshanReport(str(log), read_all=False)
    module = "POSIX" if "POSIX" in report.modules else "STDIO"
    report.mod_read_all_records(module, dtype="pandas")
    counters = report.records[module][0]["counters"]
    return tuple(
        int(counters[f"{module}_BYTES_{way}"].clip(lower=0).sum()) for way in ("WRITTEN", "READ")
    )  # type: ignore[return-value]


def made(text: str, tmp_path: Path, name: str = "log.txt") -> iotune.Trace:
    folder = tmp_path / name.replace(".", "_")
    folder.mkdir()
    (folder / name).write_text(text)
    return imported(folder / name, folder)[0]


@pytest.mark.parametrize("log", wheel_logs(), ids=lambda one: one.name[:40])
def test_totals_are_those_of_pydarshan(log: Path, tmp_path: Path) -> None:
    trace, _ = imported(log, tmp_path)
    files = trace.summary.files
    assert (sum(f.bytes_written for f in files), sum(f.bytes_read for f in files)) == of_pydarshan(
        log
    )
    assert trace.summary.elapsed_seconds > 0
    assert not any(one.path.startswith("unnamed") for one in files)
    said = json.loads(typed(tmp_path, "show", str(trace.path), "--json").stdout)
    jsonschema.validate(said, schema("show"))


def test_a_log_without_calls_is_a_trace_of_totals(tmp_path: Path) -> None:
    # given
    records: list[Record] = [
        ("POSIX", -1, "/lus/out", SHARED),
        ("LUSTRE", -1, "/lus/out", {"STRIPE_SIZE": MIB, "STRIPE_WIDTH": 2, "OST_ID_0": 5}),
        ("STDIO", 0, "/home/log", {"OPENS": 1, "WRITES": 9, "BYTES_WRITTEN": 900}),
    ]
    # when
    trace = made(darshan_text(records), tmp_path)
    # then
    run = trace.summary
    assert not run.has_calls and (run.ranks, run.elapsed_seconds, run.calls) == (4, 100, 0)
    assert run.start_unix_seconds == 1_700_000_000
    shown = typed(tmp_path, "show", str(trace.path))
    for text in (
        "app, 4 ranks, 100.00 s, totals of darshan-text 3.41",
        "/lus/out   40.0 MiB written in 900 ms",
        "4 opens, 40 writes",
        "40.0 MiB written: 100% of 1 MB to 4 MB, 0% consecutive, 90% sequential",
        "most common lengths 1,048,576 B (40×); strides 3,145,728 B (36×)",
        "2 s writing, 400 ms in metadata, the sum of 4 ranks; slowest rank 2: 900 ms (10.0 MiB)",
        "2 stripes of 1.0 MiB on targets 5",
        "/home/log   by stdio alone",
    ):
        assert text in shown.stdout, (text, shown.stdout)
    assert "no calls: patterns, places and the order of calls are not known" in shown.stderr
    assert "900 B of 1 file went by stdio" in shown.stderr


def test_composite_layouts_of_lustre_are_read(tmp_path: Path) -> None:
    """As darshan-parser 3.5 prints them; of several components the first one counts."""
    layout: dict[str, Any] = {
        "NUM_COMPONENTS": 2,
        "COMP1_STRIPE_SIZE": MIB,
        "COMP1_STRIPE_COUNT": 3,
    }
    layout |= {"COMP1_STRIPE_PATTERN": "raid0", "COMP1_POOL_NAME": "fast", "COMP1_OST_ID_0": 4}
    layout |= {"COMP2_STRIPE_SIZE": 4 * MIB, "COMP2_STRIPE_COUNT": -1, "COMP2_OST_ID_0": 9}
    records: list[Record] = [("POSIX", -1, "/f", SHARED), ("LUSTRE", -1, "/f", layout)]
    totals = made(darshan_text(records), tmp_path).summary.files[0].totals
    assert totals is not None
    assert totals["stripes"] == {"stripe_bytes": MIB, "stripe_count": 3, "targets": [4]}


def test_commands_work_on_totals_or_say_why_not(tmp_path: Path) -> None:
    trace = made(darshan_text([("POSIX", -1, "/lus/out", SHARED)]), tmp_path)
    path = str(trace.path)
    commands: tuple[tuple[str, ...], ...] = (
        ("advise", path),
        ("explain", path),
        ("analyze", path),
        ("diff", path, path),
        ("report", path, "-o", "page.html"),
        ("show", path, "--calls"),
    )
    for words in commands:
        done = typed(tmp_path, *words)
        assert "no calls" in done.stderr, words
    assert "What the log counted" in (tmp_path / "page.html").read_text()
    for command, deed in (("replay", "replayed"), ("verify", "verified")):
        done = typed(tmp_path, command, path, status=1)
        assert f"cannot be {deed}: its log has totals of files and no calls" in done.stderr


def test_what_a_log_lost_is_said_by_every_command(tmp_path: Path) -> None:
    text = darshan_text([("POSIX", 0, "/lus/a", SHARED)])
    text += "# *ERROR*: The POSIX module contains incomplete data!\n"
    trace = made(text, tmp_path)
    assert any("POSIX was cut by Darshan's memory limit" in one for one in trace.summary.warnings)
    for command in ("show", "advise", "explain", "report"):
        assert "POSIX was cut" in typed(tmp_path, command, str(trace.path)).stderr


def segments(ranks: int, layers: tuple[str, ...]) -> list[tuple]:
    return [
        (layer, rank, "write", rank * MIB, MIB, 10.0 + 0.1 * inner, 11.0 - 0.1 * inner)
        for rank in range(ranks)
        for inner, layer in reversed(list(enumerate(layers)))
    ]


@pytest.mark.parametrize(
    ("counters", "mode", "call"),
    [
        ({"COLL_WRITES": 2}, "collective", "MPI_File_write_at_all"),
        ({"INDEP_WRITES": 2}, "independent", "MPI_File_write_at"),
        ({"INDEP_WRITES": 1, "COLL_WRITES": 1}, "mixed", "MPI_File_write_at"),
        ({"COLL_READS": 1}, "unknown", "MPI_File_write_at"),
        (None, "unknown", "MPI_File_write_at"),
    ],
)
def test_counters_say_whether_transfers_were_collective(
    counters: dict[str, int] | None, mode: str, call: str, tmp_path: Path
) -> None:
    records = [] if counters is None else [("MPI-IO", -1, "/lus/x", counters)]
    text = darshan_text(records, ranks=2) + dxt_text("/lus/x", segments(2, ("MPIIO", "POSIX")))
    trace = made(text, tmp_path)
    assert [one.mode for one in trace.summary.files[0].datasets] == [mode]
    names = {one.name for one in trace.each_call(layer="mpi", call="MPI_File_write*")}
    assert names == {call}
    said = any("mode is unknown" in one for one in trace.summary.warnings)
    assert said == (mode == "unknown")


def test_shares_of_time_are_of_the_job(tmp_path: Path) -> None:
    trace = made(
        darshan_text([], ranks=2, seconds=50) + dxt_text("/x", segments(2, ("POSIX",))), tmp_path
    )
    assert trace.summary.elapsed_seconds == 50  # and not the one of its calls
    assert "2% of its time in I/O" in typed(tmp_path, "show", str(trace.path)).stdout


def test_files_of_which_a_traced_log_has_counters_alone_are_in_the_trace(tmp_path: Path) -> None:
    text = darshan_text([("POSIX", 0, "/other", {"WRITES": 1, "BYTES_WRITTEN": 77})], ranks=2)
    trace = made(text + dxt_text("/x", segments(2, ("POSIX",))), tmp_path)
    assert {one.path: one.bytes for one in trace.summary.files} == {"/x": 2 * MIB, "/other": 77}
    assert any("of 1 file, 77 B, the log has counters" in one for one in trace.summary.warnings)


def test_tables_that_do_not_say_the_mode_leave_it_unknown(tmp_path: Path) -> None:
    head = "file,rank,op,offset,length,layer,start,duration\n"
    rows = [f"/x,{k % 4},{{}},{k * 5000},5000,mpiio,{k},0.1\n" for k in range(2000)]
    trace = made(head + "".join(rows).format(*["write"] * 2000), tmp_path, "word.csv")
    assert {one.mode for one in trace.summary.files[0].datasets} == {"unknown"}
    found = json.loads(typed(tmp_path, "advise", str(trace.path), "--json").stdout)
    assert "independent" not in json.dumps(found["findings"])
    named = made(head + "".join(rows).format(*["MPI_File_write_at"] * 2000), tmp_path, "name.csv")
    assert {one.mode for one in named.summary.files[0].datasets} == {"independent"}


def test_empty_parts_of_transfers_are_no_small_requests(tmp_path: Path) -> None:
    head = "file,rank,op,offset,length,start,duration\n"
    rows = [f"/x,0,pwrite,{k * MIB},{0 if k % 4 else MIB},{k},0.1\n" for k in range(4000)]
    trace = made(head + "".join(rows), tmp_path, "empty.csv")
    found = json.loads(typed(tmp_path, "advise", str(trace.path), "--json").stdout)
    assert [one["id"] for one in found["findings"]] == []


@pytest.mark.parametrize("log", wheel_logs()[-1:], ids=lambda one: one.name[:40])
def test_gzip_around_a_log_changes_nothing(log: Path, tmp_path: Path) -> None:
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    done = import_log(packed, tmp_path / "a.iotrace")
    bare = import_log(log, tmp_path / "b.iotrace")
    assert (done.format, done.calls, done.notes) == ("darshan", bare.calls, bare.notes)


def _datasets(text: str, folder: Path) -> list[dict]:
    [file] = summarized(made(text, folder).path)["files"]
    return file["datasets"]


def test_places_that_mpi_io_does_not_know_come_from_posix(tmp_path: Path) -> None:
    """Under a view the log has places of POSIX alone; what moved other bytes stays apart."""
    segments = []
    for rank in range(4):
        for step in range(6):
            at, start = (4 * step + rank) * 1000, 1.0 + step
            segments.append(("MPIIO", rank, "write", step * 1000, 1000, start, start + 0.5))
            below = 3000 if (rank, step) == (3, 5) else 1000
            segments.append(("POSIX", rank, "write", at, below, start + 0.1, start + 0.4))
    segments.sort(key=lambda one: (one[0], one[1]))
    counters = {"INDEP_WRITES": 24, "BYTES_WRITTEN": 24000}
    text = darshan_text([("MPI-IO", -1, "/f", counters)])
    found = _datasets(
        text
        + "".join(
            dxt_text("/f", [one for one in segments if one[:2] == (layer, rank)])
            for rank in range(4)
            for layer in ("MPIIO", "POSIX")
        ),
        tmp_path,
    )
    names = [(one["dataset"], one["descriptor"]["text"], one["bytes"]) for one in found]
    assert names == [
        ("(bytes)", "<1D,(CYCLIC(1000)),(6000)>", 23000),
        ("(bytes at ?)", "<1D,(IRREGULAR),(1000)>", 1000),
    ]


def _collective(layers: tuple[str, ...]) -> str:
    """Four ranks write together, under a view; two of them write the file."""
    texts = []
    for rank in range(4):
        if "MPIIO" in layers:
            texts.append(dxt_text("/f", [("MPIIO", rank, "write", 0, 1000, 1.0, 2.0)]))
        if rank % 2 == 0:
            below = ("POSIX", rank, "write", rank * 1000, 2000, 1.2, 1.8)
            texts.append(dxt_text("/f", [below]))
    counters = {"COLL_WRITES": 4, "BYTES_WRITTEN": 4000}
    return darshan_text([("MPI-IO", -1, "/f", counters)]) + "".join(texts)


@pytest.mark.parametrize("layers", [("MPIIO", "POSIX"), ("POSIX",)])
def test_aggregators_are_no_ranks(layers: tuple[str, ...], tmp_path: Path) -> None:
    [one] = _datasets(_collective(layers), tmp_path)
    assert one["descriptor"]["text"].startswith("<1D,(IRREGULAR)")
    assert one["mode"] == "collective"
    assert one["ambiguity"].startswith("written by 2 aggregators, as <1D,(*),(4000)>")


def test_a_ranks_record_beside_that_of_all_ranks(tmp_path: Path) -> None:
    """Without times in the one of all nobody was the slowest until the rank's came."""
    log = tmp_path / "log.txt"
    own = {"BYTES_WRITTEN": 10, "WRITES": 1, "F_WRITE_TIME": 0.5}
    log.write_text(darshan_text([("POSIX", -1, "/f", {"WRITES": 4}), ("POSIX", 2, "/f", own)]))
    trace, _ = imported(log, tmp_path)
    [file] = trace.raw_summary["files"]
    [use] = file["totals"]["layers"]
    assert use["ranks"] == 4 and use["calls"]["write"] == 5
    assert use["slowest"] == use["fastest"] == {"rank": 2, "bytes": 10, "seconds": 0.5}
