"""Offset patterns: what loops would make a sequence of accesses, and what is built on that.

>>> from iotune import patterns
>>> offsets = [1000 * row + 8 * k for row in range(5) for k in range(4)]
>>> print(patterns.recognise(offsets, [8] * 20))
5×{4×{(0,8); +8}; +1000}
>>> print(patterns.recognise(offsets, [8] * 20, algorithm="he2013"))
[0,(8,8,8,976)^4] lengths [8,(0)^15]
[4000,(8)^3] lengths [8,(0)^3]

recognise          the loops of one stream (docs/patterns.md explains both algorithms)
PatternLogWriter   many streams without loss in about the room of what differs between them
PatternLog         and back
Predictor          the next accesses of a stream
IndexBuilder       from a file offset to who wrote it: OffsetIndex (docs/offset-index.md)

Offsets and lengths are in bytes, one dimension, equally many: NumPy arrays of any integers, other
buffers of 64-bit integers, or iterables of int. What comes back as arrays is NumPy's, of int64
where nothing else is said. All raise iotune.Error for what cannot be.
"""

from iotune.patterns.index import IndexBuilder, OffsetIndex, Pieces, read_index
from iotune.patterns.pattern_log import PatternLog, PatternLogStream, PatternLogWriter
from iotune.patterns.predict import (
    PREDICTORS,
    Predicted,
    Predictor,
    record_plan,
)
from iotune.patterns.recognise import ALGORITHMS, PLAIN_ENTRY_BYTES, Recognised, Unit, recognise

__all__ = [
    "ALGORITHMS",
    "PLAIN_ENTRY_BYTES",
    "PREDICTORS",
    "IndexBuilder",
    "OffsetIndex",
    "PatternLog",
    "PatternLogStream",
    "PatternLogWriter",
    "Pieces",
    "Predicted",
    "Predictor",
    "Recognised",
    "Unit",
    "read_index",
    "recognise",
    "record_plan",
]
