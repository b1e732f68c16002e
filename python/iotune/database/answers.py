"""What a database holds of the files of a run: the answer that was given, and what is offered.

A run may have thousands of files, so the database is read once, when it is first asked.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from iotune import core
from iotune.database.offers import Offer, StoredOffer, stored_offers
from iotune.traces.summary import FilePattern, RunSummary

_NO_LIBRARY = "none"  # in a platform: the file does without


class Answers:
    """A database as it was when it was first asked. What reading it raises is passed on."""

    def __init__(self, database: core.Database) -> None:
        self.database = database

    @cached_property
    def _patterns(self) -> list[dict[str, Any]]:
        return list(self.database.patterns()["patterns"])

    @cached_property
    def _rows(self) -> dict[int, tuple[dict[str, Any], dict[str, Any]]]:
        return {
            answer["id"]: (pattern, answer)
            for pattern in self._patterns
            for answer in pattern["answers"]
        }

    @cached_property
    def _of_workload(self) -> dict[tuple[Any, ...], str]:
        """The keys of patterns that decide for their file."""
        return {
            (*(use[name] for name in ("program", "file", "ranks", "nodes")),
             pattern["descriptor"], pattern["op"]): str(pattern.get("byte_key", ""))
            for pattern in self._patterns
            for use in pattern["workloads"]
            if use["speaker"]
        }  # fmt: skip

    @cached_property
    def _offers(self) -> dict[str, list[StoredOffer]]:
        return stored_offers(self.database)

    def of_row(self, row: int) -> dict[str, Any] | None:
        """The answer in that row; None: it is not one that holds."""
        found = self._rows.get(row)
        return None if found is None else dict(found[1])

    def offer(self, run: RunSummary, file: FilePattern) -> Offer | None:
        """The latest offer of the file's pattern that was measured on its platform.

        The pattern is that of the answer which the run was given, else the one that the database
        has of the same program's file.
        """
        if not self._offers:
            return None
        found = self._rows.get(file.decision_row)
        key = str(found[0].get("byte_key", "")) if found else self._key_of_workload(run, file)
        fitting = (
            one for one in self._offers.get(key, ()) if is_of_platform(one.platform, run, file)
        )
        return next((one.offer for one in fitting), None)

    def _key_of_workload(self, run: RunSummary, file: FilePattern) -> str:
        dominant = file.dominant
        if dominant is None:
            return ""
        shown = (dominant.descriptor, "write" if dominant.write else "read")
        program = program_of(run)
        for name in (file.masked_name, os.path.basename(file.path)):
            key = self._of_workload.get((program, name, run.ranks, run.nodes, *shown))
            if key:
                return key
        return ""


def program_of(run: RunSummary) -> str:
    """The program as workloads have it."""
    return run.identity or os.path.basename(run.program or run.program_name)


def is_of_platform(platform: dict[str, str], run: RunSummary, file: FilePattern) -> bool:
    """Whether what was stored of a platform is of the run's file.

    Files that no HDF5 or no MPI-IO moved do without, whatever the program has loaded.
    """
    layer = "hdf5"
    if not file.declared and file.dominant is not None:
        layer = file.dominant.layer
    mpi = _NO_LIBRARY if layer == "posix" else run.mpi
    hdf5 = run.hdf5 if layer == "hdf5" else _NO_LIBRARY
    filesystem = core.filesystem_of(os.path.dirname(file.path))
    if filesystem == "unknown":  # the folder is gone
        filesystem = platform["filesystem"]
    return (platform["filesystem"], platform["mpi"], platform["hdf5"]) == (filesystem, mpi, hdf5)
