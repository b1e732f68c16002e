"""One pass over a trace's calls that gathers what the report's figures show.

Memory is one batch of calls and what is gathered, whose size does not grow with the calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from iotune.html_report.access_loops import Accesses, AccessLoops
from iotune.html_report.offset_grid import OffsetGrid
from iotune.html_report.rank_rows import RankRows
from iotune.html_report.size_counts import LAYERS, SizeCounts, StripeCounts
from iotune.html_report.time_bins import READ, WRITE, TimeBins
from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import MISSING, CallBatch, CallReader

OTHER = 2  # neither reads nor writes: opens, closes, metadata, syncs
_HDF5, _MPI_IO, _STDIO, _POSIX = range(len(LAYERS))
_COLUMNS = (
    *("process", "level", "layer", "call", "file"),
    *("offset_bytes", "length_bytes", "start_ns", "duration_ns", "time_kind"),
)
_LEVELS = 4
_TELL_SECONDS = 0.2


class FileMap:
    """What is drawn of one file's accesses, at the layer nearest to the storage that has any."""

    def __init__(self, rows: int, elapsed_seconds: float, stripe_bytes: int, targets: int):
        self.grid = OffsetGrid(rows, elapsed_seconds)
        self.loops = AccessLoops()
        self.stripes = StripeCounts(stripe_bytes, targets) if stripe_bytes > 0 else None
        self.layer = ""


class CallPass:
    """Gathers. All times are seconds after the run's first call."""

    def __init__(
        self,
        rows: RankRows,
        elapsed_seconds: float,
        mapped: Mapping[str, tuple[int, int]],
    ):
        """`mapped`: the files of which maps are drawn, with bytes of a stripe and storage targets.

        Both are 0 where they are not known.
        """
        processes = len(rows.row_of_process)
        self.rows = rows
        self.bins = TimeBins(rows.count, elapsed_seconds)
        self.sizes = SizeCounts()
        # Outermost calls of each process, by what they did (READ, WRITE, OTHER).
        self.seconds = np.zeros((processes, 3))
        self.calls = np.zeros((processes, 3), np.int64)
        self.moved = np.zeros((processes, 2))
        # Of each layer's outermost and inner calls together, the layers below them included.
        self.layer_seconds = np.zeros(len(LAYERS))
        self.layer_calls = np.zeros((len(LAYERS), 3), np.int64)
        self._below = np.zeros((len(LAYERS), _LEVELS))  # of inner calls, by layer and level
        self._mapped = mapped
        self._maps: dict[tuple[str, int], FileMap] = {}
        self._elapsed = elapsed_seconds

    def read(self, path: Path, tell: Callable[[int], None] | None = None) -> list[str]:
        """Go through a trace; what of it is missing or damaged is returned in words.

        `tell` is called now and then with the number of calls read so far.
        """
        reader = CallReader(path, columns=_COLUMNS)
        done, reported = 0, time.monotonic()
        for batch in reader:
            self._take(batch)
            done += batch.rows
            if tell is not None and time.monotonic() - reported > _TELL_SECONDS:
                tell(done)
                reported = time.monotonic()
        return reader.losses

    @property
    def maps(self) -> dict[str, FileMap]:
        """By path. Where POSIX or stdio moved bytes of a file theirs, else those of MPI-IO."""
        found: dict[str, FileMap] = {}
        for (path, layer), one in sorted(self._maps.items(), key=lambda item: item[0][1]):
            one.layer = LAYERS[layer]
            found[path] = one
        return found

    def own_seconds(self) -> dict[str, float]:
        """Time in each layer's calls without that in the layers below, all processes together.

        A call inside of two layers was made by MPI-IO; inside of one by the nearest layer above it
        that the run used.
        """
        own = self.layer_seconds.copy()
        used = self.layer_calls.sum(axis=1) > 0
        for layer in range(len(LAYERS)):
            for level in range(1, _LEVELS):
                inner = self._below[layer, level]
                if inner > 0:
                    own[_parent(layer, level, used)] -= inner
        return {name: max(0.0, float(own[at])) for at, name in enumerate(LAYERS) if used[at]}

    def _take(self, batch: CallBatch) -> None:
        column = {
            name: np.frombuffer(batch.numbers(name), np.int32)
            for name in ("process", "level", "layer", "call", "file", "time_kind")
        }
        layer = _looked_up(batch.names("layer"), column["layer"], LAYERS)
        known = layer >= 0
        if not known.any():
            return
        numbers = {
            name: np.frombuffer(batch.numbers(name), np.int64)[known]
            for name in ("offset_bytes", "length_bytes", "start_ns", "duration_ns")
        }
        column = {name: values[known] for name, values in column.items()}
        layer = layer[known]
        kind = _kinds(batch.names("call"))[column["call"]]
        start, seconds = numbers["start_ns"] / 1e9, numbers["duration_ns"] / 1e9
        process = column["process"].astype(np.int64)
        outermost = column["level"] == 0
        # Calls on no file, MPI_Init for one, are no I/O.
        on_file = column["file"] >= 0
        self._count(process, layer, kind, column["level"], seconds, outermost, on_file)

        length = numbers["length_bytes"]
        moves = (kind != OTHER) & (length > 0)
        row = self.rows.row_of_process[process]
        below = (layer == _POSIX) | (layer == _STDIO)
        for view, chosen in enumerate((moves & outermost, moves & below)):
            if chosen.any():
                self.bins.add(
                    view, kind[chosen], row[chosen], start[chosen], seconds[chosen], length[chosen]
                )
        asked = moves & outermost
        self._count_bytes(asked, process, kind, length, column["time_kind"], batch)
        if moves.any():
            self.sizes.add(layer[moves], kind[moves], length[moves])
        placed = moves & (numbers["offset_bytes"] != MISSING)
        offset = numbers["offset_bytes"]
        at_storage = placed & below
        if at_storage.any():
            self.sizes.add_offsets(kind[at_storage], offset[at_storage])
        for number, path in enumerate(batch.names("file")):
            if path not in self._mapped:
                continue
            of_file = placed & (column["file"] == number)
            for group, mask in ((_POSIX, of_file & below), (_MPI_IO, of_file & (layer == _MPI_IO))):
                if mask.any():
                    some = Accesses(
                        *(process[mask], kind[mask], start[mask], start[mask] + seconds[mask]),
                        *(offset[mask], length[mask]),
                    )
                    self._map(path, group, some)

    def _count(
        self,
        process: np.ndarray,
        layer: np.ndarray,
        kind: np.ndarray,
        level: np.ndarray,
        seconds: np.ndarray,
        outermost: np.ndarray,
        on_file: np.ndarray,
    ) -> None:
        process, layer, kind, level = (values[on_file] for values in (process, layer, kind, level))
        seconds, outermost = seconds[on_file], outermost[on_file]
        cells = (process * 3 + kind)[outermost]
        size = self.calls.size
        self.calls += np.bincount(cells, minlength=size).reshape(self.calls.shape)
        spent = np.bincount(cells, weights=seconds[outermost], minlength=size)
        self.seconds += spent.reshape(self.seconds.shape)
        self.layer_seconds += np.bincount(layer, weights=seconds, minlength=len(LAYERS))
        counted = np.bincount(layer * 3 + kind, minlength=self.layer_calls.size)
        self.layer_calls += counted.reshape(self.layer_calls.shape)
        if not outermost.all():
            cells = layer * _LEVELS + np.minimum(level, _LEVELS - 1)
            below = np.bincount(cells, weights=seconds, minlength=self._below.size)
            self._below += below.reshape(self._below.shape)

    def _count_bytes(
        self,
        asked: np.ndarray,
        process: np.ndarray,
        kind: np.ndarray,
        length: np.ndarray,
        time_kind: np.ndarray,
        batch: CallBatch,
    ) -> None:
        if not asked.any():
            return
        cells = (process * 2 + kind)[asked]
        moved = np.bincount(cells, weights=length[asked], minlength=self.moved.size)
        self.moved += moved.reshape(self.moved.shape)
        kept = _looked_up(batch.names("time_kind"), time_kind, ("pattern", "bin"))
        self.bins.all_bytes += float(length[asked].sum())
        self.bins.interpolated_bytes += float(length[asked & (kept == 0)].sum())
        self.bins.binned_bytes += float(length[asked & (kept == 1)].sum())

    def _map(self, path: str, layer: int, some: Accesses) -> None:
        if (path, layer) not in self._maps:
            stripe_bytes, targets = self._mapped[path]
            self._maps[path, layer] = FileMap(self.rows.count, self._elapsed, stripe_bytes, targets)
        one = self._maps[path, layer]
        row = self.rows.row_of_process[some.process]
        one.grid.add(some.write, row, some.start, some.offset, some.length)
        one.loops.add(some)
        if one.stripes is not None:
            one.stripes.add(some.offset, some.length)


def _parent(layer: int, level: int, used: np.ndarray) -> int:
    """Who made a call of a layer inside of so many others."""
    if level > 1 and used[_MPI_IO] and layer > _MPI_IO:
        return _MPI_IO
    above = [at for at in (_HDF5, _MPI_IO) if at < layer and used[at]]
    return above[-1] if above else layer


def _looked_up(names: Sequence[str], numbers: np.ndarray, wanted: Sequence[str]) -> np.ndarray:
    """Names' numbers as indices into `wanted`, -1 for all others."""
    table = np.array([wanted.index(one) if one in wanted else -1 for one in names] + [-1])
    return np.asarray(table[numbers])  # -1, no name, is the last one


def _kinds(calls: Sequence[str]) -> np.ndarray:
    found = [OTHER] * (len(calls) + 1)
    for at, name in enumerate(calls):
        meaning = meaning_of(name)
        if meaning.transfer:
            found[at] = WRITE if meaning.writes else READ
    return np.array(found, np.int64)
