"""The calls of a trace that a replay reissues: opens, transfers, syncs, views and closes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune import core
from iotune.errors import Error
from iotune.replay.event import Event, Kind, Row, View
from iotune.replay.pending_transfers import Requests
from iotune.replay.shared_pointers import SharedPointers
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import Meaning, number_at
from iotune.traces.calls import CallReader

_COLUMNS = (
    *("process", "thread", "layer", "level", "call", "file", "offset_bytes", "length_bytes"),
    *("start_ns", "duration_ns", "result", "words"),
)
_OPEN, _CLOSE, _SYNC = Kind("open"), Kind("close"), Kind("sync")
_MPI_OPEN, _MPI_CLOSE, _MPI_SYNC, _MPI_VIEW = (
    Kind(does, mpi=True, collective=True) for does in ("open", "close", "sync", "view")
)
_MPI, _KNOWN_VIEWS = 1, (0, 1, 2)  # Layer::kMpiIo; kinds of iotune_view: FORMAT.md
_APPEND, _SEEK_SET, _SEEK_CURRENT = 128, 600, 602
_MPICH_SELF = 0x44000001


@dataclass
class _MpiFile:
    path: str
    view: View = View()
    known: bool = True
    position: int | None = 0
    split: bool = False  # a split transfer has begun


@dataclass
class _PosixFile:
    path: str
    descriptors: set[int]


class EventReader:
    """Reads a trace's events as often as asked for, in the order of their starts."""

    def __init__(self, path: Path, wanted: CallFilter, layer: str | None):
        self._path = path
        self._wanted = wanted
        self._layer = layer
        self.left_out: Counter[str] = Counter()
        self._rank_of, self.ranks = _ranks(core.processes(path))
        # Files of MPI-IO whose views are not known: what POSIX did below them is replayed.
        self._below: set[str] = set()
        self.moved_below: set[str] = set()  # where something moved inside of other calls
        self.lost_places: set[str] = set()  # where shared pointers went is not known
        for _ in self.events(only_mpi=True):
            pass
        self._below |= self.lost_places & self.moved_below

    def events(self, only_mpi: bool = False) -> Iterator[Event]:
        """What is left out is counted anew each time."""
        self.left_out = Counter()
        walk = _Walk(self, only_mpi)
        for batch in CallReader(self._path, self._wanted, _COLUMNS):
            for values in zip(*(batch.values(column) for column in _COLUMNS)):
                row = Row(*values)
                if row.process not in self._rank_of:
                    if row.length is not None:
                        self.left_out["of processes that are no ranks"] += 1
                    continue
                yield from walk.events_of(row)
        yield from walk.end()

    def wants(self, row: Row, layer: str) -> bool:
        """Whether a call of that layer is one of those to replay."""
        if self._layer is not None:
            return layer == self._layer
        if layer == "mpi":
            return row.level == 0 and row.file not in self._below
        return row.level == 0 or row.file in self._below

    def rank_of(self, process: int) -> int:
        return self._rank_of[process]

    def replay_below(self, path: str) -> None:
        """MPI-IO's calls on this file cannot be reissued."""
        self._below.add(path)


def _ranks(processes: list[dict[str, Any]]) -> tuple[dict[int, int], int]:
    """The rank of each process that has one, else their numbers; and how many there are."""
    ranks = {
        number: int(row["rank"])
        for number, row in enumerate(processes)
        if isinstance(row.get("rank"), int) and row["rank"] >= 0
    }
    if not ranks:
        ranks = {number: number for number in range(len(processes))}
    if not ranks:
        raise Error("the trace has no processes")
    sizes = [row["size"] for row in processes if isinstance(row.get("size"), int)]
    return ranks, max(max(ranks.values()) + 1, *sizes, 1)


def _stands_at(said: dict[str, int]) -> int | None:
    """Where a call left the file pointer, at the file's end; earlier builds did not ask."""
    position = said.get("position", -1)
    return None if position < 0 else position


def _direction(means: Meaning) -> str:
    return "write" if means.writes else "read"


class _Walk:
    """One pass over the rows: what is open, where pointers stand."""

    def __init__(self, reader: EventReader, only_mpi: bool):
        self._reader = reader
        self._only_mpi = only_mpi
        self._mpi: dict[tuple[int, int], _MpiFile] = {}
        self._posix: dict[tuple[int, int], _PosixFile] = {}
        self._opening: dict[tuple[int, int], Row] = {}
        self._requests = Requests()
        self._shared = SharedPointers(self._lose)

    def end(self) -> Iterator[Event]:
        """What was never waited for."""
        yield from self._shared.end()
        yield from self._requests.all()

    def events_of(self, row: Row) -> Iterator[Event]:
        if row.level > 0 and row.length is not None and row.file is not None:
            self._reader.moved_below.add(row.file)
        yield from self._shared.look(row)
        for event in self._events_of(row):
            yield from self._shared.passed(event)

    def _events_of(self, row: Row) -> Iterator[Event]:
        means = row.means
        if means.notes("file"):
            yield from self._opened(row)
        elif means.notes("view"):
            yield from self._viewed(row)
        elif means.opens_file:
            self._opening[(row.process, row.thread)] = row
        elif means.of_mpi_file:
            yield from self._mpi_call(row, means)
        elif means.below_mpi and not self._only_mpi:
            yield from self._posix_call(row, means)

    def _event(self, row: Row, kind: Kind, path: str, handle: int) -> Event:
        rank = self._reader.rank_of(row.process)
        return Event(row.process, row.thread, rank, kind, path, handle, row.start_ns, row.end_ns)

    def _opened(self, row: Row) -> Iterator[Event]:
        words = row.recorded
        number, (handle, layer), path = words["keys"][0], words["numbers"][:2], row.file or ""
        opening = self._opening.pop((row.process, row.thread), row)
        if layer == _MPI:
            recorded = opening.recorded["numbers"] if opening is not row else []
            said = opening.means.said(recorded)
            appends = bool(said.get("amode", 0) & _APPEND)
            position = _stands_at(said) if appends else 0
            self._mpi[(row.process, handle)] = _MpiFile(path, position=position)
            if self._reader.wants(row, "mpi"):
                event = self._event(opening, _MPI_OPEN, path, handle)
                event.on_comm_self = said.get("comm", 0) & 0xFFFFFFFF == _MPICH_SELF
                yield event
        elif layer > _MPI and not self._only_mpi:
            known = self._posix.get((row.process, number))
            if known is not None:  # a duplicate
                known.descriptors.add(handle)
                return
            self._posix[(row.process, number)] = _PosixFile(path, {handle})
            if self._reader.wants(row, "posix"):
                yield self._event(opening, _OPEN, path, number)

    # POSIX and stdio

    def _posix_call(self, row: Row, means: Meaning) -> Iterator[Event]:
        if (means.transfer and means.begins) or means.verb == "completes":
            yield from self._aio_call(row, means)
            return
        if row.file is None or not self._reader.wants(row, "posix"):
            return
        if means.verb == "duplicates":
            keys = row.recorded["keys"]
            known = self._posix.get((row.process, keys[1])) if len(keys) > 1 else None
            if known is not None and row.result is not None and row.result >= 0:
                known.descriptors.add(row.result)
            return
        closes, syncs = means.does("closes", "file"), means.verb == "syncs"
        if not closes and not syncs and (row.length is None or row.offset is None):
            if row.length:
                self._reader.left_out["of POSIX at a place that is not in the trace"] += 1
            return
        keys = row.recorded["keys"]
        if len(keys) < 2:
            return
        descriptor, number = keys[:2]
        if closes or syncs:
            if row.result is not None and row.result < 0:
                return
            known = self._posix.get((row.process, number))
            if closes:
                if known is None:
                    return
                known.descriptors.discard(descriptor)
                if known.descriptors:
                    return
                del self._posix[(row.process, number)]
                yield from self._requests.before(row.process, False, number, row.start_ns)
            yield self._event(row, _CLOSE if closes else _SYNC, row.file, number)
            return
        self._posix.setdefault((row.process, number), _PosixFile(row.file, {descriptor}))
        event = self._event(row, Kind(_direction(means)), row.file, number)
        event.offset, event.length = row.offset or 0, row.length or 0
        event.file_end = event.offset + event.length
        yield event

    def _aio_call(self, row: Row, means: Meaning) -> Iterator[Event]:
        words = row.recorded
        if len(words["keys"]) < 2 or row.file is None:
            return
        number, numbers = words["keys"][1], words["numbers"]
        place = [number_at(numbers, at) or 0 for at in (means.asked, means.offset)]
        if means.verb == "completes":
            yield from self._requests.returned(row, (number, *place))
            return
        if row.result != 0:
            return
        above = self._requests.around(row)
        if above is not None:
            self._requests.has_aio(row.process, (number, *place), above)
        if not self._reader.wants(row, "posix"):
            return
        if row.offset is None:
            self._reader.left_out["of POSIX at a place that is not in the trace"] += 1
            return
        self._posix.setdefault((row.process, number), _PosixFile(row.file, {words["keys"][0]}))
        event = self._event(row, Kind(_direction(means), begins=True), row.file, number)
        event.offset, event.length = row.offset, row.length or 0
        event.file_end = event.offset + event.length
        yield from self._requests.too_many(row.process, row.start_ns)
        self._requests.begin(event)
        assert event.request is not None
        self._requests.has_aio(row.process, (number, *place), event.request)
        yield event

    # MPI-IO

    def _viewed(self, row: Row) -> Iterator[Event]:
        handle, displacement, element, data, tile, kind, n, *layout = row.recorded["numbers"]
        file = self._mpi.get((row.process, handle))
        if file is None:
            return
        file.known = kind in _KNOWN_VIEWS and element > 0
        file.view = View(kind, displacement, element, data, tile, tuple(layout[:n]))
        file.position = 0
        if file.known and self._reader.wants(row, "mpi"):
            event = self._event(row, _MPI_VIEW, file.path, handle)
            event.view = file.view
            yield event

    def _mpi_call(self, row: Row, means: Meaning) -> Iterator[Event]:
        numbers = row.recorded["numbers"]
        said = means.said(numbers)
        handle = number_at(numbers, means.handle)
        if handle is None or said.get("result", -1) != 0:
            return
        file = self._mpi.get((row.process, handle))
        if file is None:
            return
        new_view = means.does("changes", "view")
        if means.verb in ("closes", "syncs") or new_view:
            yield from self._requests.before(row.process, True, handle, row.start_ns)
        if means.verb == "completes":
            if file.split:
                file.split = False
                kind = Kind(means.thing, mpi=True, collective=True, split="end")
                yield self._event(row, kind, file.path, handle)
        elif means.verb == "closes":
            del self._mpi[(row.process, handle)]
            if self._reader.wants(row, "mpi"):
                yield self._event(row, _MPI_CLOSE, file.path, handle)
        elif new_view:
            file.known, file.position = False, 0  # until it is known
        elif means.verb == "seeks":
            if not means.shared:
                self._seek(file, said)
        elif means.verb == "syncs":
            if self._reader.wants(row, "mpi"):
                yield self._event(row, _MPI_SYNC, file.path, handle)
        elif means.transfer:
            yield from self._mpi_transfer(row, numbers, file, handle)

    @staticmethod
    def _seek(file: _MpiFile, said: dict[str, int]) -> None:
        whence, offset = said.get("whence"), said.get("offset", 0)
        if whence == _SEEK_SET:
            file.position = offset
        elif whence == _SEEK_CURRENT and file.position is not None:
            file.position += offset
        else:
            file.position = _stands_at(said)

    def _mpi_transfer(
        self, row: Row, numbers: list[int], file: _MpiFile, handle: int
    ) -> Iterator[Event]:
        means = row.means
        count, type_bytes = (number_at(numbers, at) for at in (means.bytes, means.item_bytes))
        if count is None or type_bytes is None or count < 0 or type_bytes < 0:
            self._reader.left_out["of a type of unknown size"] += 1
            return
        length = count * type_bytes
        if not file.known:
            self._reader.replay_below(file.path)
        element = max(file.view.element_bytes, 1)
        position: int | None = 0  # of a shared pointer, until it is known
        if means.offset is not None:
            position = number_at(numbers, means.offset)
        elif not means.shared:
            position = file.position
            file.position = None if position is None else position + length // element
        if not self._reader.wants(row, "mpi"):
            return
        if position is None or not file.known:
            self._reader.left_out["of MPI-IO at a place that is not in the trace"] += 1
            return
        kind = Kind(
            _direction(means),
            mpi=True,
            begins=means.begins,
            collective=means.collective,
            split="begin" if means.split else "",
        )
        file.split = file.split or means.split
        event = self._event(row, kind, file.path, handle)
        event.offset, event.length = position, length
        event.file_end = file.view.end_of(position * element + length)
        if means.shared:
            self._shared.begin(event, file.view, row.level)
        if means.begins:
            yield from self._requests.too_many(row.process, row.start_ns)
            self._requests.begin(event)
        yield event

    def _lose(self, event: Event) -> None:
        """Where a shared pointer's transfer went is not known: it is not made."""
        self._reader.left_out["through a shared file pointer"] += 1
        self._reader.lost_places.add(event.path)
        self._requests.forget(event)
        file = self._mpi.get((event.process, event.handle))
        if file is not None:
            file.split = False
