"""What the package asks calls.table for, where it guessed from names before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from iotune.importing.sink import CLOSE, OPEN, READ, SYNC, WRITE, kind_of, mpi_kind_of
from iotune.replay.event import Event, Kind, Row, View
from iotune.replay.event_reader import EventReader, _Walk
from iotune.replay.shared_pointers import SharedPointers
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import meaning_of, meanings
from support.installed.import_logs import imported, rows


def row(call: str, at_ns: int, file: str, level: int = 0, **words: list) -> Row:
    layer = meaning_of(call).layer
    recorded = json.dumps({"keys": [], "numbers": [], "texts": [], **words})
    return Row(0, 0, layer, level, call, file, None, None, at_ns, 50, 0, recorded)


def test_a_call_of_a_newer_iotune_means_nothing() -> None:
    unknown = meaning_of("H5Dread_from_the_future")
    assert not (unknown.transfer or unknown.opens_file or unknown.writes or unknown.collective)
    assert unknown.said((1, 2)) == {}


def test_numbers_go_by_their_names() -> None:
    chunk = meaning_of("H5Dwrite_chunk")
    said = chunk.said((7, 0, 3, 2, 100, 200, 4096, 0, 1))  # an offset of two dimensions
    assert (said["dataset"], said["filters"], said["bytes"], said["result"]) == (7, 3, 4096, 0)
    assert "offset" not in said and "chunk" in chunk.words
    seek = meaning_of("MPI_File_seek").said((5, 40, 600, 0))
    assert seek == {"file": 5, "offset": 40, "whence": 600, "result": 0}


def test_every_statement_of_a_plan_has_its_word() -> None:
    assert [Kind(does).word for does in ("open", "sync", "read")] == ["open", "sync", "read"]
    assert Kind("write", begins=True).word == "aio-write"
    assert [Kind("wait", mpi=mpi).word for mpi in (False, True)] == ["aio-wait", "mpi-wait"]
    view = Kind("view", mpi=True, collective=True)
    assert view.word == view.independent.word == "mpi-view"
    split = Kind("read", mpi=True, collective=True, split="end")
    assert (split.word, split.independent.word) == ("mpi-read-all-end", "mpi-read")
    begun = Kind("write", mpi=True, begins=True, collective=True)
    assert (begun.word, begun.independent.word) == ("mpi-iwrite-all", "mpi-iwrite")


class _Reader(EventReader):
    """Wants everything."""

    def __init__(self) -> None:
        self.moved_below = set()

    def wants(self, row: Row, layer: str) -> bool:
        return True

    def rank_of(self, process: int) -> int:
        return 0


@pytest.mark.parametrize("call", ["open", "creat", "tmpfile", "mkostemp", "freopen"])
def test_a_replay_opens_when_the_call_did_and_not_its_note(call: str) -> None:
    walk = _Walk(_Reader(), only_mpi=False)
    opened = row(call, 100, "/a", numbers=[5], texts=["/a"])
    note = row("iotune_file", 140, "/a", keys=[1], numbers=[5, 3], texts=["/a"])
    [event] = [event for one in (opened, note) for event in walk.events_of(one)]
    assert (event.kind.word, event.start_ns, event.end_ns) == ("open", 100, 150)


@pytest.mark.parametrize("call", ["write", "fwrite", "fputs", "fprintf", "fputc"])
def test_any_write_below_a_shared_pointer_tells_its_place(call: str) -> None:
    def lost(event: Event) -> None:
        raise AssertionError(event)

    def settled() -> Iterator[Event]:
        shared = SharedPointers(lost)
        event = Event(0, 0, 0, Kind("write", mpi=True), "/a", 1, 0, 90, length=8)
        shared.begin(event, View(), 0)
        yield from shared.passed(event)
        below = row(call, 10, "/a", level=1)
        below.offset, below.length = 4096, 8
        yield from shared.look(below)
        yield from shared.end()

    [event] = settled()
    assert event.offset == 4096


def test_functions_of_other_tools_logs_are_known_by_what_they_do() -> None:
    kinds = {
        READ: "read pread readv preadv preadv2 fread read_buf trc_read __pread64 fgets fscanf",
        WRITE: "write pwrite writev pwritev pwritev2 fwrite write_buf fputs fprintf",
        OPEN: "open openat create creat fopen OPEN64 freopen tmpfile mkstemp",
        CLOSE: "close release fclose",
        SYNC: "fsync fdatasync sync",
        None: "stat lseek opendir closedir mmap fflush unlink flush",
    }
    for kind, names in kinds.items():
        assert [kind_of(name) for name in names.split()] == [kind] * len(names.split()), names


def test_functions_of_mpi_io_too() -> None:
    assert mpi_kind_of("MPI_File_open") == (OPEN, False)
    assert mpi_kind_of("mpi_file_sync") == (SYNC, False)
    assert mpi_kind_of("MPI_File_iread_at_all_c") == (READ, True)
    assert mpi_kind_of("MPI_File_write_ordered_begin") == (WRITE, True)
    assert mpi_kind_of("MPI_File_write_shared") == (WRITE, False)
    for name in ("MPI_File_read_all_end", "MPI_File_set_view", "MPI_File_seek", "MPI_Init"):
        assert mpi_kind_of(name) == (None, False)


def test_recorder_s_calls_with_large_counts_are_read(tmp_path: Path) -> None:
    log = tmp_path / "0.txt"
    calls = [
        "MPI_File_open ( 0x1 /m 9 0x2 0x9 )",
        "MPI_File_write_at_c ( 0x9 512 0x1 4 MPI_INT [] )",
        "MPI_File_write_at ( 0x9 528 0x1 4 MPI_INT [] )",
        "MPI_File_write_shared ( 0x9 0x1 4 MPI_INT [] )",
    ]
    log.write_text("".join(f"{i}.0 {i}.5 0 {call}\n" for i, call in enumerate(calls)))
    trace, done = imported(log, tmp_path)
    assert [one.numbers[1:3] for one in trace.each_call(layer="mpi", call="*write*")] == [
        (512, 16),
        (528, 16),
        (0, 16),
    ]
    # Where the pointer that all ranks share stands is other ranks' doing.
    shared = [one.text for one in trace.each_call(layer="mpi", call="*write*")][-1]
    assert "[at ?" in shared and trace.summary.files[0].bytes_written == 48
    assert not rows(trace, "pwrite") and not done.notes


def test_filters_name_all_transfers_of_hdf5() -> None:
    names = [one.name for one in meanings().values() if one.of_hdf5 and one.transfer]
    assert {"H5Dread", "H5Dwrite_multi_async", "H5Dread_chunk2"} <= set(names)
    assert CallFilter(names=tuple(names)).names == tuple(names)
