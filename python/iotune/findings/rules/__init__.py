"""All that is looked for, by layer. An id's text for people is docs/findings.md."""

from __future__ import annotations

from iotune.findings.rule import Rule
from iotune.findings.rules import (
    calls,
    conflicts,
    epochs,
    files,
    hdf5_chunks,
    hdf5_data,
    hdf5_metadata,
    ranks,
    repeated,
    requests,
)

RULES: tuple[Rule, ...] = (
    *requests.RULES,
    *repeated.RULES,
    *conflicts.RULES,
    *epochs.RULES,
    *ranks.RULES,
    *files.RULES,
    *calls.RULES,
    *hdf5_data.RULES,
    *hdf5_chunks.RULES,
    *hdf5_metadata.RULES,
)
