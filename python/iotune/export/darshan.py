"""A run as a log of Darshan 3.4, which PyDarshan, Drishti and darshan-util read.

Counters of POSIX, MPI-IO, stdio, HDF5's files and datasets are counted call by call
(darshan_counts). Beside them stand the segments of DXT, the heatmap, and Lustre's stripes where the
trace has them. A file that all ranks used has one record for all, as Darshan makes it. Memory grows
with the files and ranks, and by 32 bytes a transfer of POSIX and MPI-IO for DXT.
"""

from __future__ import annotations

import json
import math
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from iotune import core
from iotune.export import Exported
from iotune.export.darshan_counts import (
    ALL_RANKS,
    Record,
    add_kind,
    of_all_ranks,
    selection_kind,
)
from iotune.export.darshan_file import SEGMENT, DarshanFile, Job, packed
from iotune.export.nested_times import NestedTimes
from iotune.importing.darshan_format import (
    DIMENSIONS,
    DXT_MPI_IO,
    DXT_POSIX,
    H5D,
    H5F,
    MPI_IO,
    POSIX,
    STDIO,
    Module,
)
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import Meaning, meaning_of
from iotune.traces.calls import CallReader
from iotune.traces.log_totals import demand_calls, said_by_log

_BATCH_ROWS = 1 << 14
_COLUMNS = (
    *("process", "thread", "level", "layer", "call", "file", "dataset", "offset_bytes"),
    *("length_bytes", "start_ns", "duration_ns", "result", "arguments", "transfers"),
)
_HEAT_SECONDS = 0.1  # the least width of a bin; it doubles until all of the run is in …
_MOST_BINS = 200
_UNKNOWN_OFFSET = -1
_MODULES = {"posix": POSIX, "mpiio": MPI_IO, "stdio": STDIO}
_DXT = {POSIX: DXT_POSIX, MPI_IO: DXT_MPI_IO}
_HEAT_NAMES = {POSIX: "heatmap:POSIX", MPI_IO: "heatmap:MPIIO", STDIO: "heatmap:STDIO"}
# Calls that move nothing, by verb: what they count as, and the times that they are of.
_POSIX_CALLS = {
    **{"opens": ("OPENS", "OPEN"), "creates": ("OPENS", "OPEN"), "closes": (None, "CLOSE")},
    **{"duplicates": ("DUPS", ""), "seeks": ("SEEKS", ""), "asks": ("STATS", "")},
}
_STDIO_CALLS = {
    **{"opens": ("OPENS", "OPEN"), "creates": ("OPENS", "OPEN"), "closes": (None, "CLOSE")},
    **{"duplicates": ("FDOPENS", "OPEN"), "seeks": ("SEEKS", ""), "flushes": ("FLUSHES", "")},
}


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Count the calls that are wanted, and write the log."""
    demand_calls(path, "exported as a log of Darshan's")
    reader = CallReader(path, wanted, _COLUMNS, limit, _BATCH_ROWS)
    run = _Run(path)
    count = 0
    for batch in reader:
        count += batch.rows
        for row in zip(*(batch.values(column) for column in _COLUMNS)):
            run.take(*row)
    run.log(reader.run_start_unix_ns).write(to)
    return Exported(count, [*run.losses, *reader.losses])


class _Run:
    def __init__(self, path: Path):
        self._path = path
        self._processes = core.processes(path)
        self._ranks = _ranks_of(self._processes)
        self.losses: list[str] = []
        outside = sum(1 for rank in self._ranks if rank is None)
        if outside:
            noun = "process is" if outside == 1 else "processes are"
            self.losses.append(f"{outside} {noun} no rank: Darshan's format has no place for them")
        self._records: dict[tuple[Module, str], dict[int, Record]] = {}
        self._segments: dict[tuple[Module, int, str], tuple[bytearray, bytearray]] = {}
        self._heat: dict[tuple[Module, int], list[tuple[float, float, int, bool]]] = {}
        self._end = 0.0
        self._threads: dict[tuple[int, int], NestedTimes] = {}

    def take(
        self,
        process: int,
        thread: int,
        level: int,
        layer: str,
        call: str,
        file: str | None,
        dataset: str | None,
        offset: int | None,
        length: int | None,
        start_ns: int,
        duration_ns: int,
        result: int | None,
        arguments: str | None,
        transfers: str | None,
    ) -> None:
        """A call, in its turn."""
        rank = self._ranks[process]
        if rank is None:
            return
        times = self._threads.setdefault((process, thread), NestedTimes())
        begin_ns, end_ns = times.place(level, start_ns, start_ns + duration_ns)
        start, end = begin_ns / 1e9, end_ns / 1e9
        self._end = max(self._end, end)
        if file is None:
            return
        meaning = meaning_of(call)
        if meaning.notes("dataset"):
            self._describe(rank, file, json.loads(arguments or "{}"))
        elif layer == "hdf5":
            if result is None or result >= 0:
                self._hdf5(rank, file, dataset, meaning, transfers, start, end)
        elif layer in _MODULES:
            module = _MODULES[layer]
            if meaning.transfer:
                if length is not None and length >= 0:
                    self._transfer(module, rank, file, meaning, offset, length, start, end)
            elif result is None or (result >= 0 if layer != "mpiio" else result == 0):
                self._call(module, rank, file, meaning, start, end)
            elif layer == "stdio" and meaning.opens_file:
                self._call(module, rank, file, meaning, start, end)

    def log(self, start_ns: int) -> DarshanFile:
        """All that was taken."""
        ranks = max([1, *(rank + 1 for rank in self._ranks if rank is not None)])
        ranks = max([ranks, *(int(one.get("size", 0)) for one in self._processes)])
        first = self._processes[0] if self._processes else {}
        words = [str(word) for word in first.get("argv") or [first.get("program", "")]]
        log = DarshanFile(
            Job(
                *(ranks, start_ns, start_ns + math.ceil(self._end * 1e9)),
                shlex.join(words),
                metadata={"lib_ver": "3.4.0", "written_by": f"iotune {version('iotune')}"},
            )
        )
        self._say_opens()
        for (module, name), own in sorted(
            self._records.items(), key=lambda one: (one[0][0].number, one[0][1])
        ):
            found = sorted(own.items())
            if len(found) == ranks > 1:
                found = [(ALL_RANKS, of_all_ranks(found))]
            for rank, record in found:
                of_file = record.file if module is H5D else None
                log.counted(module, name, rank, record.numbers(), of_file)
        for (module, rank, name), (written, read) in self._segments.items():
            host = self._host(rank)
            log.traced(module, name, rank, host, bytes(written), bytes(read))
        self._add_heat(log)
        for name, stripe_bytes, targets in self._stripes():
            log.striped(name, stripe_bytes, targets)
        return log

    def _record(self, module: Module, rank: int, name: str) -> Record:
        own = self._records.setdefault((module, name), {})
        if rank not in own:
            own[rank] = Record(module)
        return own[rank]

    def _host(self, rank: int) -> str:
        for number, one in zip(self._ranks, self._processes):
            if number == rank:
                return str(one.get("host", ""))
        return ""

    def _transfer(
        self,
        module: Module,
        rank: int,
        file: str,
        meaning: Meaning,
        offset: int | None,
        length: int,
        start: float,
        end: float,
    ) -> None:
        record = self._record(module, rank, file)
        verb = "WRITES" if meaning.writes else "READS"
        way = ""
        if module is MPI_IO:
            way = "COLL_" if meaning.collective else "INDEP_"
            way = "SPLIT_" if meaning.split else "NB_" if meaning.begins else way
        record.move(meaning.writes, way + verb, length, start, end)
        if module is not MPI_IO and offset is not None and length > 0:
            record.place(meaning.writes, offset, length)
        if module is not STDIO:
            add_kind(record.lengths, (length,))
            at = _UNKNOWN_OFFSET if offset is None else offset
            both = self._segments.setdefault((_DXT[module], rank, file), (bytearray(), bytearray()))
            both[0 if meaning.writes else 1].extend(packed(SEGMENT, at, length, start, end))
        self._heat.setdefault((module, rank), []).append((start, end, length, meaning.writes))

    def _call(
        self, module: Module, rank: int, file: str, meaning: Meaning, start: float, end: float
    ) -> None:
        if meaning.thing not in ("file", "view", "mapping", "path"):
            return
        record = self._record(module, rank, file)
        if meaning.verb == "syncs" and module is not STDIO:
            names = {"fsync": "FSYNCS", "fdatasync": "FDSYNCS", "MPI_File_sync": "SYNCS"}
            record.counters[names.get(meaning.name, "FSYNCS")] += 1
            record.spend("WRITE", start, end)
        elif module is MPI_IO:
            if meaning.opens_file:
                record.meta("INDEP_OPENS", start, end, "OPEN")
            elif meaning.does("changes", "view"):
                record.meta("VIEWS", start, end)
            elif meaning.does("closes", "file"):
                record.meta(None, start, end, "CLOSE")
        elif meaning.does("opens", "mapping"):
            record.meta("MMAPS", start, end)
        else:
            known = _STDIO_CALLS if module is STDIO else _POSIX_CALLS
            counter, stamp = known.get(meaning.verb, ("", ""))
            if counter is None or counter:
                if module is STDIO and meaning.name in ("ftell", "fgetpos"):
                    return
                record.meta(counter, start, end, stamp)

    def _hdf5(
        self,
        rank: int,
        file: str,
        dataset: str | None,
        meaning: Meaning,
        transfers: str | None,
        start: float,
        end: float,
    ) -> None:
        if meaning.thing == "file":
            record = self._record(H5F, rank, file)
            if meaning.opens_file:
                record.meta("OPENS", start, end, "OPEN")
            elif meaning.verb == "closes":
                record.meta(None, start, end, "CLOSE")
            elif meaning.verb == "flushes":
                record.meta("FLUSHES", start, end)
            return
        if meaning.thing != "dataset":
            return
        moved: list[dict[str, Any]] = json.loads(transfers) if transfers else []
        for one in moved:
            record = self._dataset(rank, file, one["dataset"])
            length = max(0, one["points"]) * max(0, one["type_bytes"])
            verb = "WRITES" if meaning.writes else "READS"
            record.move(meaning.writes, verb, length, start, end)
            selection = one.get("selection") or {}
            add_kind(record.lengths, selection_kind(length, selection))
            kind = selection.get("kind")
            counter = {
                **{"regular": "REGULAR_HYPERSLAB_SELECTS", "points": "POINT_SELECTS"},
                "blocks": "IRREGULAR_HYPERSLAB_SELECTS",
            }.get(str(kind))
            if counter:
                record.counters[counter] += 1
            if one.get("mode"):
                record.counters["USE_MPIIO_COLLECTIVE"] = 1
        if not moved and dataset is not None:
            record = self._dataset(rank, file, dataset)
            if meaning.verb == "closes":
                record.meta(None, start, end, "CLOSE")
            elif meaning.verb == "flushes":
                record.meta("FLUSHES", start, end)

    def _dataset(self, rank: int, file: str, dataset: str) -> Record:
        record = self._record(H5D, rank, f"{file}:{dataset}")
        record.file = file
        return record

    def _describe(self, rank: int, file: str, said: dict[str, Any]) -> None:
        """A trace knows of a dataset's opening only that it was before its first transfer."""
        record = self._dataset(rank, file, said["path"])
        dims, chunk = said.get("dims") or [], said.get("chunk") or []
        record.counters["OPENS"] += 1
        record.counters["DATASPACE_NDIMS"] = len(dims)
        record.counters["DATASPACE_NPOINTS"] = math.prod(dims)
        record.counters["DATATYPE_SIZE"] = said.get("element_bytes", 0)
        for d, size in enumerate(chunk[::-1][:DIMENSIONS], 1):
            record.counters[f"CHUNK_SIZE_D{d}"] = size

    def _say_opens(self) -> None:
        """MPI_File_open is collective where more than one rank opened the file."""
        files = {name for module, name in self._records if module is MPI_IO}
        for name in files:
            own = self._records[MPI_IO, name]
            for record in own.values() if len(own) > 1 else ():
                record.counters["COLL_OPENS"] += record.counters.pop("INDEP_OPENS", 0)
            for record in self._records.get((H5F, name), {}).values():
                record.counters["USE_MPIIO"] = 1

    def _add_heat(self, log: DarshanFile) -> None:
        width = _HEAT_SECONDS
        while self._end / width > _MOST_BINS:
            width *= 2
        bins = max(1, math.ceil(self._end / width))
        for (module, rank), moved in sorted(
            self._heat.items(), key=lambda one: (one[0][0].number, one[0][1])
        ):
            both = ([0] * bins, [0] * bins)
            for start, end, length, writes in moved:
                _spread(both[0 if writes else 1], width, start, end, length)
            log.heat(_HEAT_NAMES[module], rank, width, both[0], both[1])

    def _stripes(self) -> list[tuple[str, int, list[int]]]:
        said = said_by_log(self._path) or {}
        return [
            (file["path"], file["stripes"]["stripe_bytes"], file["stripes"]["targets"])
            for file in said.get("files", [])
            if file.get("stripes", {}).get("targets")
        ]


def _ranks_of(processes: list[dict[str, Any]]) -> list[int | None]:
    """Of each process; without MPI they are counted, and beside ranks they are left out."""
    ranks = [int(one.get("rank", -1)) for one in processes]
    if all(rank < 0 for rank in ranks):
        return list(range(len(ranks)))
    return [rank if rank >= 0 else None for rank in ranks]


def _spread(bins: list[int], width: float, start: float, end: float, length: int) -> None:
    """Put a transfer's bytes evenly into the bins of its time; their sum stays whole."""
    first = min(int(start / width), len(bins) - 1)
    last = min(int(end / width), len(bins) - 1)
    if first == last or end <= start:
        bins[first] += length
        return
    before = 0
    for place in range(first, last + 1):
        until = end if place == last else (place + 1) * width
        share = round(length * (until - start) / (end - start))
        bins[place] += share - before
        before = share
