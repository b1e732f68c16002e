"""Findings: what of a run's I/O is slow by its shape, and what to do (docs/findings.md)."""

from __future__ import annotations

from iotune.findings.finding import SEVERITIES, Estimate, Evidence, Finding, Findings, Setting
from iotune.findings.look import findings_of

__all__ = [
    "SEVERITIES",
    "Estimate",
    "Evidence",
    "Finding",
    "Findings",
    "Setting",
    "findings_of",
]
