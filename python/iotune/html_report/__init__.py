"""The HTML report of one or more runs: `iotune report` (docs/report.md)."""

from __future__ import annotations

from iotune.errors import Error

try:
    import jinja2  # noqa: F401
    import numpy  # noqa: F401
except ImportError as problem:
    raise Error(
        f"a report needs Jinja2 and NumPy ({problem}): pip install 'iotune[report]'"
    ) from None

from iotune.html_report.facts import RunFacts, gather
from iotune.html_report.page import page_of

__all__ = ["RunFacts", "gather", "page_of"]
