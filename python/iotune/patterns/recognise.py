"""The loops of one stream, by ours or by the papers' algorithm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iotune.core import native_part
from iotune.errors import Error
from iotune.patterns.arrays import int64_buffer

ALGORITHMS = ("nested", "he2013")

# Bytes of an index entry of the papers in memory: what their compression rates compare with.
PLAIN_ENTRY_BYTES = 56


@dataclass(frozen=True)
class Unit:
    """A part of the sequence, as it is printed.

    nested: `4×{(100,8); +16}`, four times, from offset 100, 8 bytes long, 16 bytes further each
    time; loops nest, and an access with its own stride has it in its parentheses.
    he2013: `[i,(d0,d1,…)^r]`, start at i and walk the deltas, r times, first for offsets and then
    for lengths.
    """

    text: str
    accesses: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Recognised:
    """A sequence of accesses as units, in the order in which they were made."""

    algorithm: str
    units: tuple[Unit, ...]
    accesses: int
    bytes: int
    """What the representation takes: nested, encoded; he2013, in memory as the papers count."""

    @property
    def rate(self) -> float:
        """56 bytes an access over `bytes`, the papers' compression rate; 0 without an access."""
        return PLAIN_ENTRY_BYTES * self.accesses / self.bytes if self.bytes else 0.0

    def __str__(self) -> str:
        return "\n".join(unit.text for unit in self.units)


def recognise(
    offsets: Iterable[int],
    lengths: Iterable[int],
    algorithm: str = "nested",
    window: int = 6,
) -> Recognised:
    """Find the patterns of one stream of accesses, without loss.

    offsets, lengths: one dimension each, equally many, bytes; numpy arrays of any integers, other
    buffers of 64-bit integers, or any iterables of int.
    algorithm: "nested", loops in loops after Ketterlin and Clauss (CGO 2008), or "he2013", the
    pattern units of He et al. (HPDC 2013, algorithm 1).
    window: he2013 only, the longest sequence of deltas that is seen to repeat.
    """
    if algorithm not in ALGORITHMS:
        raise Error(f"there is no algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    native = native_part()
    columns = (int64_buffer(offsets, "offsets"), int64_buffer(lengths, "lengths"))
    if algorithm == "nested":
        found, size = native.find_nests(*columns)
    else:
        if not 1 <= window <= 2**31:
            raise Error("the window must be 1 or more")
        found, size = native.find_he2013(*columns, window)
    units = tuple(Unit(text, accesses) for text, accesses in found)
    return Recognised(algorithm, units, sum(unit.accesses for unit in units), size)
