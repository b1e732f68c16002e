"""iotune: the I/O of unmodified MPI and HDF5 programs, recorded, recognised and tuned.

>>> import iotune
>>> run = iotune.open_trace("vpic.iotrace")         # doctest: +SKIP
>>> run.summary.files[0].datasets[0].descriptor     # doctest: +SKIP
'<1D,(BLOCK),(8388608)>'
"""

from iotune.errors import Error
from iotune.trace import Trace, open_trace

__version__ = "0.1.0"
__all__ = ["Error", "Trace", "__version__", "open_trace"]
