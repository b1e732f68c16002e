"""The HTML report of one or more runs: `iotune report` (docs/report.md)."""

from __future__ import annotations

from iotune.html_report.facts import RunFacts, gather
from iotune.html_report.page import page_of

__all__ = ["RunFacts", "gather", "page_of"]
