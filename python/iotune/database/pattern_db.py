"""The pattern database as a Python object: what `iotune.PatternDB` is (docs/howto/python.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iotune import core
from iotune.errors import Error
from iotune.traces.summary import DatasetPattern

if TYPE_CHECKING:
    from types import TracebackType

# Beyond it no answer is taken over: patterndb/matching/neighbours.h.
SIMILAR = 1.25


@dataclass(frozen=True)
class Platform:
    """What an answer holds for."""

    filesystem: str = ""
    mpi: str = ""
    hdf5: str = ""
    host_class: str = ""


@dataclass(frozen=True)
class Workload:
    """A program's file that showed a pattern."""

    program: str = ""
    file: str = ""  # its base name, each number as #
    ranks: int = 0
    nodes: int = 0
    dataset: str = ""
    datasets: int = 0  # of the file, with this pattern
    repeats: int = 0  # how often the whole was done again (time steps)
    speaker: bool = False  # whether its dataset is the file's dominant one (the key's name is old)
    last_seen: float = 0.0  # seconds since the epoch


@dataclass(frozen=True)
class Tuning:
    """An answer: settings for a pattern on a platform, and what they bring."""

    id: int = -1
    state: str = ""  # tuned, default-is-best, untrained, reverted, refused, predicted
    settings: Mapping[str, str] = field(default_factory=dict)  # value by parameter; empty: default
    gain: float | None = None  # speed over the default's; None: not measured
    low: float | None = None  # the gain's interval
    high: float | None = None
    rounds: int = 0  # of measurement
    source: str = ""  # who stored it: train, runs, by hand …
    made_at: float = 0.0  # seconds since the epoch
    platform: Platform = Platform()
    descriptor: str = ""


@dataclass(frozen=True)
class KnownPattern:
    """A pattern of the database. Counts, dimensions and chunks are in elements."""

    id: int = -1
    descriptor: str = ""  # <2D,(BLOCK,*),(6,24)>: docs/descriptors.md
    operation: str = "write"  # or read
    element_bytes: int = 0
    ranks: int = 1
    process_grid: tuple[int, ...] = ()  # ranks per dimension; empty: irregular
    mode: str = "independent"  # or collective, mixed, unknown
    chunk: tuple[int, ...] = ()  # empty: not chunked
    filters: int = 0
    dataset_dims: tuple[int, ...] = ()
    byte_key: str = ""  # what patterns are compared by: equal for equal bytes
    workloads: tuple[Workload, ...] = ()
    tunings: tuple[Tuning, ...] = ()  # that hold: the newest one of each platform


@dataclass(frozen=True)
class Move:
    """Something that happened to a pattern's answers."""

    kind: str  # answer, first seen, drift
    at: float  # seconds since the epoch
    platform: Platform
    reported: Mapping[str, Any]  # by kind: the fields of `iotune db history --json`


@dataclass(frozen=True)
class Match:
    """A known pattern and how far it lies from the one that was asked for (docs/similarity.md)."""

    pattern: KnownPattern
    distance: float  # 0: the same to the file system; twice the ranks is 1

    @property
    def is_similar(self) -> bool:
        """Whether an answer of it may be taken over, as far as the distance says."""
        return self.distance <= SIMILAR


class PatternDB:
    """A pattern database, read as it was when it was opened.

    >>> with iotune.PatternDB("patterns.db") as database:     # doctest: +SKIP
    ...     for match in database.match(run.summary.files[0].datasets[0]):
    ...         print(match.distance, match.pattern.descriptor, match.pattern.tunings)

    Without a path it is IOTUNE_DB's, else the user's own. It is only read: what runs left in the
    spool is folded in by `ingest()` alone, which needs `read_only=False`. One thread at a time may
    use an object. Raises iotune.Error, one line, where there is no database at that place, it
    cannot be read or is of a newer version, and for everything after `close()`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, read_only: bool = True):
        named = os.environ.get("IOTUNE_DB", "") if path is None else os.fspath(path)
        if named == "none":
            raise Error("there is no database: it was named 'none'")
        self.path = Path(core.default_database() if path is None else path).absolute()
        if read_only and not self.path.exists():
            raise Error(f"{self.path}: there is no database")
        self.read_only = read_only
        self._database: core.Database | None = core.Database(self.path, read_only)

    def patterns(self) -> list[KnownPattern]:
        """All patterns, as `iotune db list` has them."""
        return [_pattern(one) for one in self._open().patterns()["patterns"]]

    def pattern(self, number: int) -> KnownPattern:
        """The pattern of that ID. Raises Error where there is none."""
        return _pattern(self._open().show(_number(number)))

    def query(self, descriptor: str, element_bytes: int | None = None) -> list[KnownPattern]:
        """The patterns with that descriptor.

        With `element_bytes` those of the same bytes: a block of 4 elements of 8 bytes is one of 8
        elements of 4.

        Raises Error that names the first fault of a text that is no descriptor.
        """
        return [_pattern(one) for one in self._open().query(descriptor, element_bytes)["patterns"]]

    def tunings(self, pattern: KnownPattern | int) -> list[Tuning]:
        """All answers that a pattern ever had, the newest last."""
        return [_tuning(one) for one in self._open().show(_number(pattern))["history"]]

    def history(self, pattern: KnownPattern | int) -> list[Move]:
        """Every move of a pattern's answers in order of time, as `iotune db history` has them."""
        moves = []
        for one in self._open().history(_number(pattern))["moves"]:
            reported = {name: value for name, value in one.items() if name not in _OF_EACH_MOVE}
            moves.append(Move(one["kind"], one["at"], _built(Platform, one["platform"]), reported))
        return moves

    def match(
        self,
        pattern: DatasetPattern | KnownPattern | str,
        *,
        element_bytes: int = 0,
        dataset_dims: Sequence[int] = (),
        process_grid: Sequence[int] = (),
        operation: str = "write",
        mode: str = "collective",
        chunk: Sequence[int] = (),
        filters: int = 0,
        within: float | None = None,
    ) -> list[Match]:
        """The patterns that the given one can be compared with, the nearest first.

        `pattern` is one of a run (`run.summary.files[0].datasets[0]`), one of a database, or a
        descriptor. A descriptor says nothing of the bytes, so that with it `element_bytes`,
        `dataset_dims` and `process_grid` (ranks per dimension) are needed; sizes in elements.
        `within`: leave out what is farther; 1.25 is how far answers are taken over. Patterns that
        lie behind a wall (a read for a write, another mode, chunked for contiguous …) are left out.
        Raises Error where the pattern is irregular or what is given contradicts itself.
        """
        from iotune.comparing.patterns import distance

        if isinstance(pattern, str):
            asked = _described(pattern, element_bytes, dataset_dims, process_grid, mode)
            asked.write, asked.chunk, asked.filters = operation == "write", list(chunk), filters
            if operation not in ("write", "read"):
                raise Error(f"{operation!r} is neither write nor read")
        else:
            asked = _as_dataset(pattern) if isinstance(pattern, KnownPattern) else pattern
        if distance(asked, asked)[0] is None:
            raise Error(
                f"{asked.descriptor or 'a pattern'} is irregular, or its dimensions are not known: "
                "nothing lies at a distance of it"
            )
        found = []
        for known in self.patterns():
            other = _as_dataset(known)
            if other.write != asked.write:
                continue
            far, _ = distance(asked, other)
            if far is not None and (within is None or far <= within):
                found.append(Match(known, far))
        return sorted(found, key=lambda one: (one.distance, one.pattern.id))

    def ingest(self) -> dict[str, Any]:
        """Fold in what runs left in the spool. Counts, and `faults` in words.

        Raises Error for a database that was opened to be read.
        """
        if self.read_only:
            raise Error(f"{self.path} is only read: PatternDB(path, read_only=False)")
        return self._open().ingest()

    def close(self) -> None:
        """Give it back; any number of times."""
        self._database = None

    def __enter__(self) -> PatternDB:
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[KnownPattern]:
        return iter(self.patterns())

    def __len__(self) -> int:
        return len(self._open().patterns()["patterns"])

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"PatternDB({str(self.path)!r})"

    def _open(self) -> core.Database:
        if self._database is None:
            raise Error(f"{self.path} was closed")
        return self._database


_OF_EACH_MOVE = ("kind", "at", "platform")


def _number(pattern: KnownPattern | int) -> int:
    number = pattern.id if isinstance(pattern, KnownPattern) else pattern
    if not 0 <= number < 2**63:
        raise Error(f"there is no pattern {number}")
    return number


def _built(kind: type[Any], source: Mapping[str, Any]) -> Any:
    """Fields that an older or newer native part does not give keep their defaults."""
    known = kind.__dataclass_fields__
    return kind(**{name: value for name, value in source.items() if name in known})


def _tuning(source: Mapping[str, Any]) -> Tuning:
    platform = _built(Platform, source.get("platform") or {})
    made: Tuning = _built(Tuning, {**source, "platform": platform})
    return made


def _pattern(source: Mapping[str, Any]) -> KnownPattern:
    made: KnownPattern = _built(
        KnownPattern,
        {
            **source,
            "operation": source["op"],
            "process_grid": tuple(source["grid"]),
            "chunk": tuple(source["chunk"]),
            "dataset_dims": tuple(source["dataset_dims"]),
            "workloads": tuple(_built(Workload, one) for one in source.get("workloads", ())),
            "tunings": tuple(_tuning(one) for one in source.get("answers", ())),
        },
    )
    return made


def _as_dataset(known: KnownPattern) -> DatasetPattern:
    return DatasetPattern(
        descriptor=known.descriptor,
        write=known.operation == "write",
        element_bytes=known.element_bytes,
        dataset_dims=list(known.dataset_dims),
        process_grid=list(known.process_grid),
        chunk=list(known.chunk),
        filters=known.filters,
        ranks=known.ranks,
        mode=known.mode,
    )


def _described(
    descriptor: str,
    element_bytes: int,
    dataset_dims: Sequence[int],
    process_grid: Sequence[int],
    mode: str,
) -> DatasetPattern:
    dimensions = len(core.parse_descriptor(descriptor)["dimensions"])
    if element_bytes < 1:
        raise Error(f"{descriptor}: element_bytes is needed, 1 or more")
    for name, given in (("dataset_dims", dataset_dims), ("process_grid", process_grid)):
        if len(given) != dimensions:
            raise Error(f"{descriptor}: {name} has {len(given)} numbers and not {dimensions}")
    ranks = 1
    for parts in process_grid:
        ranks *= parts
    return DatasetPattern(
        descriptor=descriptor,
        element_bytes=element_bytes,
        dataset_dims=list(dataset_dims),
        process_grid=list(process_grid),
        ranks=ranks,
        mode=mode,
    )
