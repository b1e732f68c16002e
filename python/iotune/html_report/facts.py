"""All that the report says of one run, gathered before anything is drawn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from iotune import core
from iotune.database.answers import Answers
from iotune.findings import Findings, findings_of
from iotune.html_report.call_pass import CallPass
from iotune.html_report.rank_rows import RankRows, rank_rows
from iotune.html_report.shares import Selections, selections_of
from iotune.reports.alike import Alike, folded
from iotune.reports.evidence import Comparison, compare_with_default
from iotune.reports.explained import is_explained
from iotune.reports.losses import SAMPLE
from iotune.traces.run_epochs import RunEpochs, run_epochs
from iotune.traces.summary import FilePattern, RunSummary
from iotune.traces.trace import Trace
from iotune.verify import Verdicts, verdicts_of
from iotune.verify.elements import with_elements

MAPPED_FILES = 6  # the largest, of each series one


@dataclass
class RunFacts:
    """One run."""

    trace: Trace
    run: RunSummary
    hosts: list[str]
    rows: RankRows
    gathered: CallPass
    selections: Selections
    groups: list[Alike]  # of the files that moved bytes, most bytes first
    effects: dict[str, Comparison]  # by path, of files that are explained
    findings: Findings
    epochs: RunEpochs
    verdicts: Verdicts | None  # None: of one process alone
    losses: list[str]
    axis_seconds: float  # where time axes end: of runs side by side the longest one's end

    @property
    def program(self) -> str:
        """Its name; of an interpreter that of the script."""
        return self.run.identity or os.path.basename(self.run.program or self.run.program_name)

    @property
    def mapped(self) -> list[str]:
        """The files of which maps are drawn, the largest first."""
        sizes = {one.path: one.bytes for one in self.run.data_files}
        return sorted(self.gathered.maps, key=lambda path: (-sizes.get(path, 0), path))


def gather(
    trace: Trace,
    database: core.Database | None = None,
    tell: Callable[[int], None] | None = None,
    findings: Callable[[], Findings] | None = None,
) -> RunFacts:
    """Read a trace. Raises Error where it cannot be read; what of it is damaged is among `losses`.

    `tell` is called now and then with the number of calls read; what it raises is passed on.
    `findings` gives them where they are looked for elsewhere.
    """
    run = trace.summary
    processes = core.processes(trace.path)
    rows = rank_rows(processes)
    moved = [one for one in run.data_files if one.bytes > 0]
    groups = sorted(folded(moved), key=lambda one: -sum(file.bytes for file in one.files))
    shown = [file for one in groups for file in (one.files[:1] if one.is_folded else one.files)]
    mapped = {file.path: _stripes_of(file) for file in shown[:MAPPED_FILES]}
    gathered = CallPass(rows, run.elapsed_seconds, mapped)
    losses = [*run.warnings, *gathered.read(trace.path, tell)]
    answers = None if database is None else Answers(database)
    used_hdf5 = any(not one.inferred for file in moved for one in file.datasets)
    return RunFacts(
        trace=trace,
        run=run,
        hosts=_hosts(processes),
        rows=rows,
        gathered=gathered,
        selections=selections_of(trace.path) if used_hdf5 else Selections(),
        groups=groups,
        effects={
            file.path: compare_with_default(answers, run, file)
            for file in run.data_files
            if is_explained(file) and not file.sampled_out
        },
        findings=findings() if findings is not None else findings_of(trace),
        epochs=run_epochs(trace.path, run),
        verdicts=_verdicts(trace) if len(processes) > 1 else None,
        axis_seconds=run.elapsed_seconds,
        losses=list(dict.fromkeys(one for one in losses if not one.endswith(SAMPLE))),
    )


def _verdicts(trace: Trace) -> Verdicts:
    return with_elements([trace.path], verdicts_of([trace.path]))


def _hosts(processes: list[dict[str, Any]]) -> list[str]:
    """Of ranks, or of all processes where none is one."""
    ranks = [one for one in processes if int(one.get("rank", -1)) >= 0] or processes
    return sorted({str(one["host"]) for one in ranks if one.get("host")})


def _stripes_of(file: FilePattern) -> tuple[int, int]:
    """Bytes of a stripe and the number of targets, as far as the run read them back."""
    found = {one.parameter: one.got for one in file.settings if one.verdict == "applied"}

    def value(name: str) -> int:
        return int(found[name]) if found.get(name, "").isdigit() else 0

    return value("striping_unit"), value("striping_factor")
