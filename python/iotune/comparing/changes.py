"""What two groups of runs have of each other and what not: `iotune diff` as data."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Optional, TypeVar

from iotune.comparing.patterns import distance
from iotune.comparing.times import TimeChange, compared
from iotune.findings import findings_of
from iotune.reports.actual_io import reported_settings
from iotune.reports.alike import masked
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary
from iotune.traces.trace import Trace

T = TypeVar("T")
# By how much runs of a file's workload differ, but for those of which it is given the ids.
UsualSpread = Callable[[RunSummary, FilePattern, Collection[str]], Optional[float]]
# Bytes and calls within so much of each other are as many, as the database has it.
AS_MANY = 0.1


@dataclass(frozen=True)
class Change:
    """One value of a run, a file or a dataset; None: it has none there."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class DatasetChange:
    """One dataset in one direction, on both sides or on one."""

    dataset: str
    write: bool
    state: str  # changed, only before, only now
    changes: tuple[Change, ...] = ()
    distance: float | None = None  # docs/similarity.md; None: not comparable, or one is missing
    why: str = ""  # it is not comparable


@dataclass(frozen=True)
class FileChange:
    """A file of either side. Where nothing changed the lists are empty."""

    before: str | None  # paths
    after: str | None
    datasets: tuple[DatasetChange, ...] = ()
    settings: tuple[Change, ...] = ()
    changes: tuple[Change, ...] = ()
    unchanged_datasets: int = 0

    @property
    def is_same(self) -> bool:
        """Whether all of it is as it was."""
        whole = self.before is not None and self.after is not None
        return whole and not (self.datasets or self.settings or self.changes)


@dataclass(frozen=True)
class Difference:
    """All that `iotune diff` says."""

    before: tuple[str, ...]  # the traces
    after: tuple[str, ...]
    run: tuple[Change, ...] = ()
    files: tuple[FileChange, ...] = ()
    times: tuple[TimeChange, ...] = ()
    findings_gone: tuple[str, ...] = ()
    findings_new: tuple[str, ...] = ()
    findings_kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Plain values for `--json` (diff.schema.json)."""
        return asdict(self)


def difference(
    before: Sequence[Trace],
    after: Sequence[Trace],
    usual: UsualSpread = lambda run, file, compared: None,
) -> Difference:
    """Compare two groups of runs of one program.

    Patterns and settings are those of the newest run of each side; of times all runs count.
    `usual` tells by how much other runs of a file's workload differ. Raises Error for a trace
    that cannot be read.
    """
    a, b = before[-1].summary, after[-1].summary
    pairs = _paired(
        _moved(a.data_files),
        _moved(b.data_files),
        lambda one: one.path,
        lambda one: _name(one.path),
    )
    gone, new = _ids(before[-1]), _ids(after[-1])
    return Difference(
        tuple(str(one.path) for one in before),
        tuple(str(one.path) for one in after),
        tuple(_of_run(a, b)),
        tuple(_file(one, other) for one, other in pairs),
        tuple(_times(before, after, pairs, usual)),
        tuple(one for one in gone if one not in new),
        tuple(one for one in new if one not in gone),
        tuple(one for one in new if one in gone),
        tuple(_warnings(before, after)),
    )


def _ids(trace: Trace) -> list[str]:
    return [one.id for one in findings_of(trace).findings]


def _moved(files: Iterable[FilePattern]) -> list[FilePattern]:
    """Files of which something was moved: the others are no part of the I/O."""
    return [one for one in files if one.bytes or one.datasets]


def _name(path: str) -> str:
    """What a file is called in every run: its name with # for numbers."""
    return masked(path.rpartition("/")[2])


def _paired(
    before: Sequence[T], after: Sequence[T], *keys: Callable[[T], Hashable]
) -> list[tuple[T | None, T | None]]:
    """Those that belong together by the first key, then by the next; the rest by themselves."""
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for key in keys:
        open_places: dict[Hashable, deque[int]] = {}
        for place, one in enumerate(after):
            if place not in taken:
                open_places.setdefault(key(one), deque()).append(place)
        for place, one in enumerate(before):
            if place not in partner and open_places.get(key(one)):
                partner[place] = open_places[key(one)].popleft()
        taken = set(partner.values())
    pairs: list[tuple[T | None, T | None]] = [
        (one, after[partner[place]] if place in partner else None)
        for place, one in enumerate(before)
    ]
    return [*pairs, *((None, one) for place, one in enumerate(after) if place not in taken)]


def _of_run(a: RunSummary, b: RunSummary) -> list[Change]:
    values = [
        ("program", a.program_name, b.program_name),
        ("arguments", " ".join(a.argv[1:]), " ".join(b.argv[1:])),
        ("ranks", str(a.ranks), str(b.ranks)),
        ("nodes", str(a.nodes), str(b.nodes)),
        ("MPI", a.mpi, b.mpi),
        ("HDF5", a.hdf5, b.hdf5),
    ]
    return [Change(what, one or None, other or None) for what, one, other in values if one != other]


def _file(a: FilePattern | None, b: FilePattern | None) -> FileChange:
    if a is None or b is None:
        return FileChange(a.path if a else None, b.path if b else None)
    pairs = _paired(
        a.datasets,
        b.datasets,
        lambda one: (one.dataset, one.write),
        lambda one: (masked(one.dataset), one.write),
    )
    datasets = [_dataset(one, other) for one, other in pairs]
    changed = tuple(one for one in datasets if one is not None)
    return FileChange(
        a.path,
        b.path,
        changed,
        tuple(_settings(a, b)),
        tuple(_amounts([("bytes written", a.bytes_written, b.bytes_written),
                        ("bytes read", a.bytes_read, b.bytes_read)])),
        len(datasets) - len(changed),
    )  # fmt: skip


def _dataset(a: DatasetPattern | None, b: DatasetPattern | None) -> DatasetChange | None:
    """None where nothing changed."""
    if a is None or b is None:
        one = a or b
        assert one is not None
        return DatasetChange(one.dataset, one.write, "only now" if a is None else "only before")
    values = [
        ("pattern", a.descriptor, b.descriptor),
        ("mode", a.mode, b.mode),
        ("ranks", str(a.ranks), str(b.ranks)),
        ("grid", _joined(a.process_grid), _joined(b.process_grid)),
        ("dimensions", _joined(a.dataset_dims), _joined(b.dataset_dims)),
        ("chunk", _joined(a.chunk), _joined(b.chunk)),
        ("filters", str(a.filters), str(b.filters)),
        ("element bytes", str(a.element_bytes), str(b.element_bytes)),
        ("actual I/O", _counted(a.actual_io), _counted(b.actual_io)),
    ]
    changes = [
        Change(what, one or None, other or None) for what, one, other in values if one != other
    ]
    changes += _amounts([("calls", a.calls, b.calls), ("bytes", a.bytes, b.bytes)])
    if not changes:
        return None
    far, why = distance(a, b)
    return DatasetChange(b.dataset, b.write, "changed", tuple(changes), far, why)


def _joined(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _counted(done: dict[str, int]) -> str:
    return ", ".join(sorted(done))


def _amounts(values: Sequence[tuple[str, int, int]]) -> list[Change]:
    """Numbers that differ by more than AS_MANY."""
    return [
        Change(what, str(one), str(other))
        for what, one, other in values
        if abs(one - other) > AS_MANY * max(one, other)
    ]


def _settings(a: FilePattern, b: FilePattern) -> list[Change]:
    """What was in effect, as far as that is known, and how it is known."""

    def reported(file: FilePattern) -> dict[str, str]:
        return {
            one.parameter: f"{one.got or one.wanted} ({one.verdict})"
            for one in reported_settings(file)
        }

    one, other = reported(a), reported(b)
    return [
        Change(name, one.get(name), other.get(name))
        for name in sorted({*one, *other})
        if one.get(name) != other.get(name)
    ]


def _times(
    before: Sequence[Trace],
    after: Sequence[Trace],
    pairs: Sequence[tuple[FilePattern | None, FilePattern | None]],
    usual: UsualSpread,
) -> list[TimeChange]:
    a, b = [one.summary for one in before], [one.summary for one in after]
    ids = {one.run_id for one in (*a, *b)}
    of_a, of_b = [_FileTimes(one) for one in a], [_FileTimes(one) for one in b]
    found = [
        compared("the run", [one.elapsed_seconds for one in a], [one.elapsed_seconds for one in b]),
        compared("its I/O", [one.io_seconds for one in a], [one.io_seconds for one in b]),
    ]
    for one, other in pairs:
        if one is not None and other is not None:
            found.append(
                compared(
                    other.path,
                    _seconds(of_a, one.path),
                    _seconds(of_b, other.path),
                    usual(b[-1], other, ids),
                )
            )
    return [one for one in found if one is not None]


class _FileTimes:
    """The I/O times of a run's files, by path and by name."""

    def __init__(self, run: RunSummary):
        self._by_path = {one.path: one.io_seconds for one in run.files}
        by_name: dict[str, list[float]] = {}
        for one in _moved(run.data_files):
            by_name.setdefault(_name(one.path), []).append(one.io_seconds)
        self._by_name = {name: median(times) for name, times in by_name.items()}

    def of(self, path: str) -> float | None:
        """That of the file, else the median of those of its name; None where there is none."""
        known = self._by_path.get(path)
        return self._by_name.get(_name(path)) if known is None else known


def _seconds(runs: Sequence[_FileTimes], path: str) -> list[float]:
    """A file's time in each run that has it."""
    times = [one.of(path) for one in runs]
    return [one for one in times if one is not None]


def _warnings(before: Sequence[Trace], after: Sequence[Trace]) -> list[str]:
    """What is missing of a trace, and runs of a side that are not alike."""
    found = []
    for side, traces in (("A", before), ("B", after)):
        found += [f"{one.path.name}: {text}" for one in traces for text in one.summary.warnings]
        kinds = Counter((one.summary.program_name, one.summary.ranks) for one in traces)
        if len(kinds) > 1:
            said = ", ".join(f"{name} on {ranks} ranks" for name, ranks in sorted(kinds))
            found.append(f"{side} has runs of several kinds, whose times say nothing: {said}")
    return found
