"""`iotune export --format darshan`: PyDarshan reads the log, and its counters are Darshan's."""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import iotune
from iotune.export import darshan_file, export_calls
from iotune.export.darshan_counts import size_class
from iotune.importing import darshan_format, import_log
from iotune.traces.log_totals import summarized
from support.installed.darshan_texts import darshan_text
from support.installed.import_logs import typed
from support.repository import TESTS

HEAD = "rank,file,op,offset,length,start,end,layer,host\n"


@pytest.fixture(autouse=True)
def _with_pydarshan() -> None:
    if importlib.util.find_spec("darshan") is None:
        pytest.skip("NOT VERIFIED: logs of Darshan's form: PyDarshan is not installed")


def log_of(trace: Path, folder: Path) -> Path:
    log = folder / "made.darshan"
    export_calls(trace, "darshan", str(log))
    return log


def traced(folder: Path, *lines: str) -> Path:
    table = folder / "log.csv"
    table.write_text(HEAD + "".join(line + ",node\n" for line in lines))
    return import_log(table, folder / "table.iotrace").trace


def records(log: Path, module: str) -> dict[tuple[str, int], dict[str, Any]]:
    """What PyDarshan says, without a warning: counters by file and rank."""
    import darshan

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = darshan.DarshanReport(str(log), read_all=True)
    found = {}
    for one in report.records[module]:
        said: dict[str, Any] = {}
        for kind in ("counters", "fcounters"):
            said.update(zip(report.counters[module][kind], one[kind].tolist()))
        found[report.name_records[one["id"]], int(one["rank"])] = said
    return found


def test_counters_are_in_the_order_that_pydarshan_has() -> None:
    from darshan.backend import cffi_backend

    for prefix, module in (
        ("posix", darshan_format.POSIX),
        ("mpiio", darshan_format.MPI_IO),
        ("stdio", darshan_format.STDIO),
        ("h5f", darshan_format.H5F),
        ("h5d", darshan_format.H5D),
    ):
        for kind, names in (("", module.counters), ("_f", module.times)):
            theirs = getattr(cffi_backend.libdutil, f"{prefix}{kind}_counter_names")
            for place, name in enumerate(names):
                said = cffi_backend.ffi.string(theirs[place]).decode()
                assert said == module.prefix + name


def test_a_ranks_counters_are_those_of_the_documentation(tmp_path: Path) -> None:
    trace = traced(
        tmp_path,
        "0,/f,write,0,100,1.0,1.5,posix",
        "0,/f,write,100,101,2.0,2.25,posix",  # consecutive
        "0,/f,write,4096,100,3.0,3.125,posix",  # behind a gap, and aligned
        "0,/f,read,10,50,4.0,4.5,posix",
        "1,/g,read,0,8,5.0,5.5,posix",
    )
    found = records(log_of(trace, tmp_path), "POSIX")
    assert set(found) == {("/f", 0), ("/g", 1)}
    own = found["/f", 0]
    expected = {
        **{"OPENS": 1, "WRITES": 3, "READS": 1, "BYTES_WRITTEN": 301, "BYTES_READ": 50},
        **{"MAX_BYTE_WRITTEN": 4195, "MAX_BYTE_READ": 59, "RW_SWITCHES": 1},
        **{"CONSEC_WRITES": 1, "SEQ_WRITES": 2, "SEQ_READS": 1, "CONSEC_READS": 0},
        **{"SIZE_WRITE_0_100": 2, "SIZE_WRITE_100_1K": 1, "SIZE_READ_0_100": 1},
        **{"FILE_ALIGNMENT": 4096, "FILE_NOT_ALIGNED": 2, "MEM_NOT_ALIGNED": -1},
        **{"ACCESS1_ACCESS": 100, "ACCESS1_COUNT": 2, "ACCESS2_ACCESS": 50, "ACCESS2_COUNT": 1},
        **{"STRIDE1_STRIDE": 3895, "STRIDE1_COUNT": 1, "STRIDE2_COUNT": 0},
        **{"MAX_WRITE_TIME_SIZE": 100, "F_MAX_WRITE_TIME": 0.5, "F_WRITE_TIME": 0.875},
        **{"F_READ_TIME": 0.5, "F_WRITE_START_TIMESTAMP": 0, "F_WRITE_END_TIMESTAMP": 2.125},
    }
    assert {key: own["POSIX_" + key] for key in expected} == pytest.approx(expected, abs=1e-9)


def test_a_file_of_all_ranks_has_one_record(tmp_path: Path) -> None:
    trace = traced(
        tmp_path,
        "0,/f,MPI_File_write_at_all,0,1000,1.0,2.0,mpiio",
        "1,/f,MPI_File_write_at_all,1000,3000,1.0,4.0,mpiio",
        "1,/own,MPI_File_write_at,0,10,5.0,5.5,mpiio",
    )
    found = records(log_of(trace, tmp_path), "MPI-IO")
    assert set(found) == {("/f", -1), ("/own", 1)}
    whole = found["/f", -1]
    expected = {
        **{"COLL_WRITES": 2, "INDEP_WRITES": 0, "BYTES_WRITTEN": 4000, "COLL_OPENS": 2},
        **{"FASTEST_RANK": 0, "FASTEST_RANK_BYTES": 1000, "SLOWEST_RANK": 1},
        **{"SLOWEST_RANK_BYTES": 3000, "F_FASTEST_RANK_TIME": 1, "F_SLOWEST_RANK_TIME": 3},
        **{"F_VARIANCE_RANK_TIME": 1, "F_VARIANCE_RANK_BYTES": 1e6, "F_WRITE_TIME": 4},
        **{"MAX_WRITE_TIME_SIZE": 3000, "F_MAX_WRITE_TIME": 3},
    }
    assert {key: whole["MPIIO_" + key] for key in expected} == pytest.approx(expected)
    assert found["/own", 1]["MPIIO_INDEP_OPENS"] == 1


def test_ends_of_the_classes_of_lengths() -> None:
    assert [size_class(length) for length in (0, 100, 101, 1024, 1025, 1 << 20, 1 << 40)] == [
        *("0_100", "0_100", "100_1K", "100_1K", "1K_10K", "100K_1M", "1G_PLUS"),
    ]


def test_datasets_segments_and_heat_of_a_run(tmp_path: Path) -> None:
    import darshan

    run = next(iter(sorted((TESTS / "data").rglob("four-ranks-hdf5.iotrace"))))
    log = log_of(run, tmp_path)
    report = darshan.DarshanReport(str(log), read_all=True)
    summary = summarized(run)
    assert report.metadata["job"]["nprocs"] == summary["ranks"]
    # Drishti ends with a traceback where there is none.
    assert report.metadata["exe"].split()[0] == summary["argv"][0]
    moved = {
        dataset["dataset"]: dataset["bytes"]
        for file in summary["files"]
        for dataset in file["datasets"]
        if dataset["write"]
    }
    found: dict[str, int] = {}
    for (name, _), one in records(log, "H5D").items():
        inside = name.rpartition(":")[2]
        found[inside] = found.get(inside, 0) + one["H5D_BYTES_WRITTEN"]
    assert {name: found[name] for name in moved} == moved
    calls = iotune.open_trace(run).calls(layer="posix")
    written = calls[calls["call"].isin(["write", "pwrite"])]["length_bytes"].sum()
    segments = [
        one["length"] for record in report.records["DXT_POSIX"] for one in record["write_segments"]
    ]
    assert sum(segments) == written
    heat = [heat.to_df(["write"]).to_numpy().sum() for heat in report.heatmaps.values()]
    assert written in heat


def test_imported_again_it_is_the_same_run(tmp_path: Path) -> None:
    lines = [
        f"{rank},/f,MPI_File_write_at,{(4 * step + rank) * 4096},4096,{step + 1}.{rank},"
        f"{step + 1}.{rank}5,mpiio"
        for step in range(8)
        for rank in range(4)
    ]
    trace = traced(tmp_path, *lines)
    again = import_log(log_of(trace, tmp_path), tmp_path / "again.iotrace").trace

    def said(path: Path) -> list[tuple[Any, ...]]:
        keys = ("write", "mode", "ranks", "calls", "bytes", "repeats", "seconds")
        return [
            (one["descriptor"]["text"], *(one[key] for key in keys))
            for file in summarized(path)["files"]
            for one in file["datasets"]
        ]

    assert said(again) == [pytest.approx(one) for one in said(trace)]
    assert "CYCLIC" in said(again)[0][0]


def test_a_log_of_a_machine_with_the_other_order_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of its numbers are turned round; what it holds is the same."""
    trace = traced(
        tmp_path,
        *(f"{rank},/d/f,write,{4096 * rank},4096,{rank}.0,{rank}.5,posix" for rank in range(3)),
        "0,/d/g,read,1000,24,4.0,4.25,mpiio",
    )  # fmt: skip
    own = log_of(trace, tmp_path).read_bytes()
    (tmp_path / "made.darshan").unlink()
    monkeypatch.setattr(darshan_file, "_ORDER", ">")
    other = log_of(trace, tmp_path)
    assert other.read_bytes()[8:16] == own[8:16][::-1]
    found = import_log(other, tmp_path / "other.iotrace").trace
    other.write_bytes(own)
    wanted = import_log(other, tmp_path / "own.iotrace").trace
    said, own_said = (dict(iotune.open_trace(one).raw_summary) for one in (found, wanted))
    assert said.pop("run_id") != own_said.pop("run_id")  # of the log's bytes
    assert said == own_said and said["calls"] > 4


def test_what_has_no_calls_has_no_such_log(tmp_path: Path) -> None:
    text = tmp_path / "totals.txt"
    text.write_text(darshan_text([("POSIX", 0, "/f", {"WRITES": 1, "BYTES_WRITTEN": 10})]))
    trace = import_log(text, tmp_path / "totals.iotrace").trace
    done = typed(tmp_path, "export", str(trace), "--format", "darshan", status=1)
    assert "cannot be exported as a log of Darshan's" in done.stderr
    assert not (tmp_path / "totals.darshan").exists()


CALLS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["/a", "/b é", "/c:d"]),
        st.sampled_from([("read", "posix"), ("write", "posix"), ("fwrite", "stdio")]),
        st.integers(0, 1 << 40),
        st.integers(0, 1 << 24),
        st.integers(0, 1000),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=25, deadline=None)
@given(CALLS)
def test_drawn_calls_keep_their_bytes(calls: list[tuple[Any, ...]]) -> None:
    lines = []
    expected: Counter[tuple[str, str]] = Counter()
    for place, (rank, file, (operation, layer), offset, length, duration) in enumerate(calls):
        begin = 1 + place
        lines.append(
            f"{rank},{file},{operation},{offset},{length},{begin},{begin + duration / 1e4},{layer}"
        )
        way = "WRITTEN" if "write" in operation else "READ"
        expected[f"{layer.upper()}_BYTES_{way}", file] += length
    with tempfile.TemporaryDirectory() as folder:
        log = log_of(traced(Path(folder), *lines), Path(folder))
        found: Counter[tuple[str, str]] = Counter()
        for module in {layer.upper() for _, _, (_, layer), *_ in calls}:
            for (file, _), one in records(log, module).items():
                for way in ("READ", "WRITTEN"):
                    found[f"{module}_BYTES_{way}", file] += one[f"{module}_BYTES_{way}"]
    assert +found == +expected
