"""The next accesses of a stream: patterns/predict, with its README.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from iotune.core import native_part
from iotune.errors import Error
from iotune.patterns.arrays import Integers, int64_buffer, numpy_array

PREDICTORS = ("best", "nest", "unit", "tree", "markov", "stride", "readahead", "recorded")


@dataclass(frozen=True)
class Predicted:
    """What comes next, in its order; arrays, equally long."""

    offset: Any
    """Bytes, int64."""
    length: Any
    """Bytes, int64."""
    confidence: Any
    """0 to 1, float64: how often a prediction that far ahead was right of late."""

    def __len__(self) -> int:
        return len(self.offset)

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        """Rows of (offset, length, confidence)."""
        columns = (self.offset, self.length, self.confidence)
        return iter(zip(*(column.tolist() for column in columns)))


class Predictor:
    """Sees the accesses of one stream (one open file of one process) and says what comes next.

    best        nest; where that is wrong too often, long loops and lists of places that come again
                (delta correlation, Nesbit and Smith, HPCA 2004) and up to 16 sequences in turn;
                64 KiB of state
    nest        loops in loops by steps, ours: 1 KiB of state (Ketterlin and Clauss, CGO 2008)
    unit        the last pattern unit walked on (He et al., HPDC 2013, section 4)
    tree        the same paper's pattern tree
    markov      the block that came after this one most often (Oly and Reed, ICS 2002)
    stride      the last step again
    readahead   what lies behind the last access
    recorded    an earlier run's accesses: record_plan

    Worked: after [0,(3,4,7)^2] come 31, 35, 42.

    >>> one = Predictor()
    >>> hits = one.observe([0, 3, 7, 14, 17, 21, 28], [2] * 7)
    >>> one.predict(3).offset.tolist()
    [31, 35, 42]
    """

    def __init__(
        self,
        kind: str = "best",
        block_bytes: int = 8192,
        transitions: int = 16384,
        earlier: bytes = b"",
    ):
        """Start one.

        block_bytes, transitions: markov, bytes of a block and room for so many of its transitions.
        earlier: recorded, what record_plan returned.
        """
        if kind not in PREDICTORS:
            raise Error(f"there is no predictor {kind!r}; there are {', '.join(PREDICTORS)}")
        if not 1 <= block_bytes < 2**62 or not 1 <= transitions <= 2**26:
            raise Error("a block has a byte, a model a transition at least")
        self.kind = kind
        native = native_part()
        self._native = native.Predictor(kind, block_bytes, transitions, earlier)

    def observe(self, offsets: Integers, lengths: Integers) -> Any:
        """The next accesses that were made. Returns an array of bool: which of them were predicted.

        Predicted is an access that predict(1) would have said, offset and length, right before it.
        """
        columns = (int64_buffer(offsets, "offsets"), int64_buffer(lengths, "lengths"))
        return numpy_array(self._native.observe(*columns)).astype(bool)

    def predict(self, count: int = 1) -> Predicted:
        """The next `count` accesses, or fewer where no more can be said; nothing is changed."""
        if not 0 <= count <= 1 << 20:
            raise Error("of 0 to 1048576 accesses can be asked")
        return Predicted(*(numpy_array(column) for column in self._native.predict(count)))

    @property
    def state_bytes(self) -> int:
        """Memory of the predictor itself; what it learned is in there."""
        return int(self._native.state_bytes())


def record_plan(offsets: Integers, lengths: Integers) -> bytes:
    """A stream's accesses as a plan for a later run: `earlier` of Predictor("recorded")."""
    columns = (int64_buffer(offsets, "offsets"), int64_buffer(lengths, "lengths"))
    native = native_part()
    return bytes(native.record_plan(*columns))
