"""What a finding says (docs/findings.md). A finding is a fact of one run and what to do about it.

All values are plain: `as_json` is what `iotune advise --json` prints (advise.schema.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

HIGH, MEDIUM, LOW = SEVERITIES = ("high", "medium", "low")  # the gravest first


@dataclass(frozen=True)
class Evidence:
    """One file or dataset that shows the finding. Numbers are of the calls that show it alone."""

    text: str  # a sentence with the numbers that a reader needs
    file: str = ""  # absolute path; "": of the run as a whole
    dataset: str = ""  # path in the HDF5 file
    ranks: tuple[int, ...] = ()  # of MPI_COMM_WORLD, rising; -1: a process that is no rank
    calls: int = 0
    bytes: int = 0
    seconds: float | None = None  # the slowest rank's sum; None: the trace has no times of them
    # The seconds of each process: those of several files are added up process by process.
    by_process: Mapping[int, float] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Setting:
    """A parameter that iotune sets by itself against the finding, once it was measured to help."""

    parameter: str  # as `iotune db` and docs/safety.md name it
    state: str  # set in this run, or refused in this run, without effect, may be set
    why: str = ""  # what was said where it was refused


@dataclass(frozen=True)
class Estimate:
    """What mending it may be worth: an upper bound of seconds, and how it was reckoned."""

    seconds: float
    share: float | None  # of the run's time; None where that is not known
    how: str


@dataclass(frozen=True)
class Snippet:
    """Some lines of a program that do it better."""

    language: str  # c, fortran, python or shell
    code: str


@dataclass(frozen=True)
class Finding:
    """One id appears at most once in a run's findings; its files are its evidence."""

    id: str  # small-writes: also the section of docs/findings.md
    severity: str  # of SEVERITIES
    title: str  # a few words
    summary: str  # one sentence with the numbers of all evidence together
    layer: str  # of the calls to change: hdf5, mpiio, posix, stdio
    advice: str  # what to do in the program, some sentences
    evidence: tuple[Evidence, ...]  # the gravest first
    snippets: tuple[Snippet, ...] = ()  # the first fits the program best
    settings: tuple[Setting, ...] = ()  # empty: iotune cannot help, the program must change
    estimate: Estimate | None = None  # None: unknown
    more_evidence: int = 0  # files or datasets beyond `evidence`

    @property
    def page(self) -> str:
        """Where the documentation explains it."""
        return f"docs/findings.md#{self.id}"


@dataclass(frozen=True)
class Findings:
    """All findings of a run, the gravest first, and what could not be looked at."""

    findings: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()  # ids of all that was looked for
    limits: tuple[str, ...] = field(default=())  # what was not seen, in words

    def as_json(self) -> dict[str, Any]:
        """Plain values for `--json`."""
        found = [{**asdict(one), "page": one.page} for one in self.findings]
        for one in found:
            for shown in one["evidence"]:
                del shown["by_process"]
        return {"findings": found, "checked": list(self.checked), "limits": list(self.limits)}
