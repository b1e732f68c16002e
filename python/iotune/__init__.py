"""iotune: the I/O of unmodified MPI and HDF5 programs, recorded, recognised and tuned.

>>> import iotune
>>> run = iotune.open_trace("vpic.iotrace")         # doctest: +SKIP
>>> run.summary.files[0].datasets[0].descriptor     # doctest: +SKIP
'<1D,(BLOCK),(8388608)>'
"""

from typing import TYPE_CHECKING, Any

from iotune.errors import Error

if TYPE_CHECKING:
    from iotune.annotation import annotate
    from iotune.database.pattern_db import PatternDB
    from iotune.traces.trace import Trace, open_trace

__version__ = "0.1.0"
__all__ = ["Error", "PatternDB", "Trace", "__version__", "annotate", "open_trace"]


def __getattr__(name: str) -> Any:
    # `iotune lib` needs none of it.
    if name == "annotate":
        from iotune.annotation import annotate

        globals().update(annotate=annotate)
        return annotate
    if name == "PatternDB":
        from iotune.database.pattern_db import PatternDB

        globals().update(PatternDB=PatternDB)
        return PatternDB
    if name in ("Trace", "open_trace"):
        from iotune.traces import trace

        globals().update(Trace=trace.Trace, open_trace=trace.open_trace)
        return globals()[name]
    raise AttributeError(f"module 'iotune' has no attribute {name!r}")
