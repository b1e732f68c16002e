"""The summary of a run, as the commands get it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

DATASET: dict[str, Any] = {
    "dataset": "/Step#0/x", "write": True, "descriptor": "<1D,(CYCLIC),(200000)>",
    "element_bytes": 8, "dataset_dims": [400000], "process_grid": [2], "chunk": [], "filters": 0,
    "ranks": 2, "mode": "collective", "calls": 2, "repeats": 1, "bytes": 3200000, "seconds": 0.4,
}  # fmt: skip
SMALL = {**DATASET, "dataset": "/time", "descriptor": "<1D,(*),(1)>", "bytes": 8, "seconds": 1e-5,
         "ranks": 1, "process_grid": [1], "calls": 1}  # fmt: skip
FILE: dict[str, Any] = {
    "path": "/scratch/cyclic00001.h5", "masked_name": "cyclic#.h5", "bytes_written": 3200008,
    "bytes_read": 0, "io_seconds": 0.5, "elapsed_seconds": 0.6, "opened_at_seconds": 0.1,
    "datasets": [SMALL, DATASET], "speaker": 1, "speaker_count": 1,
    "decision_source": "unknown", "decision_pattern": "", "decision_message": "never observed",
    "decision_row": -1, "decision_distance": 0.0, "decision_state": "untrained", "settings": [],
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "run_id": "6b00", "program": "/opt/bin/cyclic-io", "program_name": "cyclic-io",
    "mpi": "MPICH 4.0.2", "hdf5": "1.10.8", "argv": ["cyclic-io"], "ranks": 2, "processes": 2,
    "nodes": 1, "start_unix_seconds": 1e9, "elapsed_seconds": 0.61,
    "io_seconds": 0.5, "calls": 90, "dropped": 0,
    "files": [FILE], "warnings": ["3 bytes were passed over"],
}  # fmt: skip
TUNED = {
    **FILE, "decision_source": "exact", "decision_row": 7, "decision_state": "tuned",
    "decision_pattern": DATASET["descriptor"], "decision_message": "trained for cyclic-io",
    "settings": [
        {"parameter": "romio_cb_write", "wanted": "disable", "got": "disable", "reason": "",
         "verdict": "applied"},
        {"parameter": "alignment", "wanted": "262144,1048576", "got": "1,1", "verdict": "refused",
         "reason": "the program set it"},
    ],
}  # fmt: skip


def summarized_as(summary: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """What stands in for core.summarize()."""

    def found(
        path: Path, take: Callable[[Any], None] | None = None, fold: bool = False
    ) -> dict[str, Any]:
        if take is None:
            return summary
        for file in summary["files"]:
            take(dict(file))
        return {**summary, "files": []}

    return found
