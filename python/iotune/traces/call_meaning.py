"""What each recorded call means: recorder/calls.table, whose head explains the words.

Nothing else in the package tells calls by their names, but what makes calls itself and what reads
the logs of other tools.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iotune.core import call_table
from iotune.traces.call_filter import LAYERS

_HDF5, _MPI_IO, _STDIO, _POSIX, _IOTUNE = LAYERS


@dataclass(frozen=True)
class Meaning:
    """One call's. Places are indices into its recorded numbers, of `named` into its texts."""

    name: str
    layer: str  # of LAYERS; "" for a call that this iotune does not know
    verb: str
    thing: str
    words: frozenset[str]
    transfer: bool  # moves data of a file or a dataset
    arguments: tuple[str, ...]  # as the function has them; of POSIX and stdio what is recorded
    # The names of its recorded numbers, its result among them; of an array its length.
    numbers: tuple[str, ...]
    arrays: frozenset[str]
    on_several: bool  # it has a list of handles
    handle: int | None
    offset: int | None
    bytes: int | None  # bytes that it moved, or items …
    item_bytes: int | None  # … of so many bytes
    asked: int | None  # the bytes that were asked for
    named: int | None  # the text that is a file's path
    order: bool  # it orders processes, and is about no file (IOTUNE_ORDER)

    def does(self, verb: str, thing: str) -> bool:
        return self.verb == verb and self.thing == thing

    @property
    def opens_file(self) -> bool:
        """Whether it gives a handle of a file, found by a name or made."""
        return self.verb in ("opens", "creates") and self.thing == "file"

    @property
    def reads(self) -> bool:
        return self.transfer and self.verb == "reads"

    @property
    def writes(self) -> bool:
        return self.transfer and self.verb == "writes"

    @property
    def collective(self) -> bool:
        return "collective" in self.words

    @property
    def shared(self) -> bool:
        """Whether it goes by the file pointer that all ranks share."""
        return "shared" in self.words

    @property
    def begins(self) -> bool:
        """Whether a later call completes what it begins."""
        return "begins" in self.words

    @property
    def split(self) -> bool:
        """Whether it begins a collective transfer that a call of its own completes."""
        return "split" in self.words

    @property
    def of_mpi_file(self) -> bool:
        """Whether it is made on an open file of MPI-IO."""
        on_handle = self.handle is not None and not self.order
        return self.layer == _MPI_IO and on_handle and self.thing != "mpi"

    @property
    def below_mpi(self) -> bool:
        """Whether it is one of POSIX or stdio."""
        return self.layer in (_POSIX, _STDIO)

    @property
    def of_hdf5(self) -> bool:
        return self.layer == _HDF5

    def notes(self, thing: str) -> bool:
        """Whether it is iotune's own note of that."""
        return self.layer == _IOTUNE and self.does("notes", thing)

    def said(self, numbers: Sequence[int]) -> dict[str, int]:
        """The recorded numbers by their names, arrays left out."""
        if not self.arrays:
            return dict(zip(self.numbers, numbers))
        found: dict[str, int] = {}
        at = 0
        for name in self.numbers:
            if at >= len(numbers):
                break
            if name in self.arrays:
                at += max(numbers[at], 0)
            else:
                found[name] = numbers[at]
            at += 1
        return found


def number_at(numbers: Sequence[int], place: int | None) -> int | None:
    """One of a call's recorded numbers; None where it has none such."""
    return numbers[place] if place is not None and place < len(numbers) else None


def _meaning(row: Mapping[str, Any]) -> Meaning:
    said = row["meaning"]
    recorded = [one for one in row["arguments"] if one["form"] in ("number", "array")]
    result = [] if row["layer"] == _IOTUNE else ["result"]
    handle = said["handle_argument"]
    return Meaning(
        row["name"],
        row["layer"],
        said["verb"],
        said["thing"],
        frozenset(said["words"]),
        row["transfer"],
        tuple(one["name"] for one in row["arguments"]),
        (*(one["name"] for one in recorded), *result, *row["extras"]),
        frozenset(one["name"] for one in recorded if one["form"] == "array"),
        handle is not None and row["arguments"][handle]["form"] == "array",
        said["handle"],
        said["offset"],
        said["bytes"],
        said["item_bytes"],
        said["count"],
        said["named"],
        row["order"],
    )


@functools.cache
def meanings() -> Mapping[str, Meaning]:
    """Of all calls, by name."""
    return {row["name"]: _meaning(row) for row in call_table()}


_UNKNOWN = Meaning(
    *("", "", "", "", frozenset(), False, (), (), frozenset(), False),
    *(None, None, None, None, None, None),
    False,
)


def meaning_of(name: str) -> Meaning:
    """The meaning of a call; of one that only a newer iotune knows, nothing."""
    return meanings().get(name, _UNKNOWN)
