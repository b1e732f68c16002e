"""Plans of calls out of maps: which rank wrote which bytes of one file, a row a write.

This is the papers' MapReplayer. A map is text with a head line that names its columns, as `iotune
log map` writes it and other tools may: commas, tabs or semicolons between them, in any order,
unknown ones ignored.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from iotune.errors import Error
from iotune.importing.lines import (
    LARGEST_OFFSET,
    UTF8_MARK,
    Malformed,
    lines_of,
    quoted,
    seconds_ns,
    whole,
)
from iotune.replay.plan_calls import VERSION_LINE, CallPlan

_ALIASES = {
    "rank": "rank", "mpi_rank": "rank",
    "writer": "writer", "process": "writer", "pid": "writer", "id": "writer", "chunk": "writer",
    "chunk_id": "writer",
    "offset": "offset", "offset_bytes": "offset", "logical": "offset", "logical_offset": "offset",
    "length": "length", "length_bytes": "length", "size": "length", "bytes": "length",
    "time_ns": "time_ns", "start_ns": "time_ns", "begin_ns": "time_ns",
    "time": "time", "start": "time", "timestamp": "time", "begin_timestamp": "time",
}  # fmt: skip
_SEPARATORS = (",", "\t", ";")
_EXPECTED = (
    "a map's head line names offset, length, and writer or rank, with commas, tabs or semicolons "
    "between them"
)
# What a trace's table has beside: `iotune import` takes it.
_NOT_OF_MAPS = {"op", "operation", "call", "file", "path", "filename"}
_MOST_RANK = (1 << 20) - 1


@dataclass(frozen=True)
class _Head:
    places: dict[str, int]
    width: int
    separator: str


@dataclass
class _Writes:
    """What one rank writes: times, or the order of lines; offsets; lengths."""

    times: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def in_order(self) -> Iterator[tuple[int, int, int]]:
        """Rows by time; those of one time in the order of their lines."""
        order = sorted(range(len(self.times)), key=self.times.__getitem__)
        return ((self.times[i], self.offsets[i], self.lengths[i]) for i in order)


def is_map(path: Path) -> bool:
    """Whether the first line of a file is a map's head, faults in it aside."""
    try:
        with path.open("rb") as file:
            line = file.readline(4096).removeprefix(UTF8_MARK)
    except OSError:
        return False
    if b"\0" in line or not line.endswith(b"\n"):
        return False
    names = _names(re.split(r"[,;\t|]", line.decode("utf-8", "replace").lstrip("#")))
    known = {_ALIASES.get(name) for name in names}
    return {"offset", "length"} <= known and not _NOT_OF_MAPS & set(names)


def write_map_plan(
    source: Path,
    to: IO[str],
    ranks: int | None = None,
    read: bool = False,
    mpiio: bool = False,
    pause: Callable[[int], int] = lambda gap: 0,
) -> CallPlan:
    """Write the plan of a map: every rank's writes into one file, in the order of their times.

    Without a column of ranks, or where a row has none, each writer is a rank, in the order in
    which they come. On another number of ranks, rank r's are made by rank r modulo `ranks`.
    `read`: the same places are read instead, of a file that is there. Raises Error, with the line,
    for what is no map.
    """
    reader = _Reader(source)
    by_rank = reader.writes()
    if not by_rank:
        raise Error(f"{source}: the map has no writes")
    own = max(by_rank) + 1
    end = max(o + n for rows in by_rank.values() for o, n in zip(rows.offsets, rows.lengths))
    moved = sum(sum(rows.lengths) for rows in by_rank.values())
    plan = CallPlan(ranks or own, files=1, needed_bytes=end if read else min(end, moved))
    dealt: dict[int, _Writes] = {}
    for rank in sorted(by_rank):
        rows, target = by_rank[rank], dealt.setdefault(rank % plan.ranks, _Writes())
        target.times += rows.times
        target.offsets += rows.offsets
        target.lengths += rows.lengths
    name = re.sub(r"[^A-Za-z0-9_-]", "_", source.stem)[-100:]
    print(f"{VERSION_LINE}\nranks {plan.ranks}", file=to)
    print(f"file 0 f0-{name} {end if read else 0}", file=to)
    if mpiio:
        print("group 0", *range(plan.ranks), file=to)
    _write_calls(to, plan, dealt, read, mpiio, pause)
    if reader.empty:
        plan.notes.append(f"{reader.empty} row(s) of length 0 left out")
    return plan


def _write_calls(
    to: IO[str],
    plan: CallPlan,
    dealt: dict[int, _Writes],
    read: bool,
    mpiio: bool,
    pause: Callable[[int], int],
) -> None:
    form = "mpi-" if mpiio else ""
    moves = form + ("read" if read else "write")
    # MPI-IO's open is collective: ranks without a write take part.
    for rank in range(plan.ranks) if mpiio else sorted(dealt):
        print(f"{rank} {form}open 0 0 {'0 ' if mpiio else ''}0", file=to)
        last: int | None = None
        for time, offset, length in dealt.get(rank, _Writes()).in_order():
            gap = 0 if last is None else pause(time - last)
            last = time
            print(f"{rank} {moves} 0 {offset} {length} {gap}", file=to)
            plan.calls += 1
        print(f"{rank} {form}close 0 0", file=to)
        plan.calls += 2


class _Reader:
    def __init__(self, source: Path):
        self.empty = 0
        self._source = source
        self._line = 0

    def writes(self) -> dict[int, _Writes]:
        """By rank. Raises Error."""
        try:
            return self._writes()
        except (Malformed, csv.Error) as problem:
            raise Error(f"{self._source}:{max(self._line, 1)}: {problem}") from None
        except OSError as problem:
            raise Error(f"{self._source}: {problem.strerror}") from None

    def _writes(self) -> dict[int, _Writes]:
        rows = self._rows()
        head = _head_of(next(rows, ""))
        by_writer: dict[str, _Writes] = {}
        rank_of: dict[str, int | None] = {}
        for words in csv.reader(rows, delimiter=head.separator, skipinitialspace=True, strict=True):
            if not words:
                continue
            row = _Row(words, head)
            rank = row.rank()
            writer = row.word("writer") if "writer" in head.places else f"rank {rank}"
            if not writer:
                raise Malformed("the writer is empty")
            if rank_of.setdefault(writer, rank) != rank:
                raise Malformed(f"writer {writer!r} is rank {rank}, and was {rank_of[writer]}")
            offset = whole(row.bytes_of("offset"), "the offset")
            length = whole(row.bytes_of("length"), "the length", most=LARGEST_OFFSET - offset)
            if length == 0:
                self.empty += 1
                continue
            writes = by_writer.setdefault(writer, _Writes())
            writes.times.append(row.time(self._line))
            writes.offsets.append(offset)
            writes.lengths.append(length)
        return _by_rank(by_writer, rank_of)

    def _rows(self) -> Iterator[str]:
        """Lines that are no comments; the head may be one."""
        for number, line in lines_of(self._source):
            self._line = number
            text = line.removeprefix(UTF8_MARK).decode("utf-8", "surrogateescape").strip()
            if number == 1:
                yield text.lstrip("# ")
            elif text and not text.startswith("#"):
                yield text


def _by_rank(by_writer: dict[str, _Writes], rank_of: dict[str, int | None]) -> dict[int, _Writes]:
    known = all(rank_of[writer] is not None for writer in by_writer)
    ranks: dict[int, _Writes] = {}
    for number, (writer, rows) in enumerate(by_writer.items()):
        rank = rank_of[writer]
        held = ranks.setdefault(rank if known and rank is not None else number, _Writes())
        # A rank may have been several writers: it opened the file more than once.
        held.times += rows.times
        held.offsets += rows.offsets
        held.lengths += rows.lengths
    return ranks


class _Row:
    def __init__(self, words: list[str], head: _Head):
        if len(words) > head.width and any(word.strip() for word in words[head.width :]):
            raise Malformed(f"{len(words)} columns, and the head line has {head.width}")
        self._words = words
        self._head = head

    def word(self, name: str) -> str:
        place = self._head.places[name]
        if place >= len(self._words):
            raise Malformed(f"{len(self._words)} columns, and {name!r} is the {place + 1}th")
        return self._words[place].strip()

    def bytes_of(self, name: str) -> bytes:
        return self.word(name).encode("utf-8", "surrogateescape")

    def rank(self) -> int | None:
        """None where it is not known: there is no column, or nothing in it, or -1."""
        if "rank" not in self._head.places or self.word("rank") in ("", "-1"):
            if "writer" not in self._head.places:
                raise Malformed("no rank, and no column of writers")
            return None
        return whole(self.bytes_of("rank"), "the rank", most=_MOST_RANK)

    def time(self, line: int) -> int:
        """Nanoseconds; the line's number where the map has no times."""
        if "time_ns" in self._head.places:
            word = self.bytes_of("time_ns")
            return whole(word, "the time", least=-LARGEST_OFFSET)
        if "time" in self._head.places:
            return seconds_ns(self.bytes_of("time"), "the time")
        return line


def _names(words: list[str]) -> list[str]:
    return [word.strip().strip('"').lower() for word in words]


def _head_of(text: str) -> _Head:
    """Raises Malformed for what is missing in it or twice."""
    separator = max(_SEPARATORS, key=text.count)
    names = _names(text.split(separator))
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        known = _ALIASES.get(name)
        if known is None:
            continue
        if known in places:
            raise Malformed(f"two columns say the {known}: {quoted(text.encode())}")
        places[known] = place
    for needed in ("offset", "length"):
        if needed not in places:
            raise Malformed(f"no column {needed!r}: {_EXPECTED}")
    if not {"rank", "writer"} & places.keys():
        raise Malformed(f"no column 'writer' or 'rank': {_EXPECTED}")
    return _Head(places, len(names), separator)
