"""What training offers for a run's files, and the command that takes it.

Nothing takes an offer by itself: it changes how other programs can read the file, or when.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from iotune.database.answers import Answers
from iotune.database.offers import GatherOffer, LogOffer, Offer
from iotune.traces.summary import FilePattern, RunSummary
from iotune.verify.remembered import line_of, remembered

_NAMED = 8  # files of one offer


@dataclass(frozen=True)
class Offered:
    """An offer to files of one folder."""

    offer: Offer
    files: tuple[str, ...]
    command: tuple[str, ...]  # that takes it for the files of the folder
    verified: str  # what a verified trace of the program says of it

    @property
    def in_the_way(self) -> list[str]:
        """Files that lie there now: what is there stays an ordinary file."""
        return [path for path in self.files if os.path.isfile(path)]

    @property
    def warning(self) -> str:
        """What has to be done first; empty: nothing."""
        is_log = isinstance(self.offer, LogOffer)
        there = self.in_the_way if is_log and self.offer.is_worth_it else []
        if not there:
            return ""
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        return f"first move {there[0]}{more} away: what is there stays an ordinary file"

    def lines(self) -> list[str]:
        """What people read."""
        reported = [self.offer.text]
        if not self.offer.is_worth_it:
            return reported
        reported.append(f"never taken by itself; this takes it: {shlex.join(self.command)}")
        reported.append(self.verified)
        if self.warning:
            reported.append(self.warning)
        return reported

    def as_json(self) -> dict[str, Any]:
        """What `explain --json` and `advise --json` print of it."""
        worth_it = self.offer.is_worth_it
        both = self.offer.both if isinstance(self.offer, LogOffer) else None
        return {
            "setting": self.offer.setting,
            "files": list(self.files[:_NAMED]),
            "more_files": len(self.files[_NAMED:]),
            "write": asdict(self.offer.write),
            "write_then_read": None if both is None else asdict(both),
            "ordinary_write_seconds": self.offer.write_seconds,
            "worth_it": worth_it,
            "command": list(self.command) if worth_it else None,
            "verified": self.verified,
            "in_the_way": [] if both is None else self.in_the_way[:_NAMED],
        }


def offered_to(answers: Answers, run: RunSummary, file: FilePattern) -> Offered | None:
    """What is offered to a file of the run; None: nothing."""
    offer = answers.offer(run, file)
    return None if offer is None else _offered(offer, run, [file.path])


def all_offered(answers: Answers, run: RunSummary) -> list[Offered]:
    """All that is offered to a run's files, those of one folder together, in the files' order."""
    found: dict[tuple[Offer, str], list[str]] = {}
    for file in run.files:
        if may_be_offered(file):
            offer = answers.offer(run, file)
            if offer is not None:
                found.setdefault((offer, os.path.dirname(file.path)), []).append(file.path)
    return [_offered(offer, run, paths) for (offer, _), paths in found.items()]


def may_be_offered(file: FilePattern) -> bool:
    """Whether training measures an offer for such a file: one that HDF5 or MPI-IO writes."""
    by_mpi = file.dominant is not None and file.dominant.layer == "mpiio"
    return (file.declared or by_mpi) and file.bytes_written > 0 and not file.sampled_out


def command_of(run: RunSummary, folder: str) -> list[str]:
    """The run once more, with its new files below `folder` kept as logs.

    Which launcher it had is in no trace: mpirun takes its place, by the name that says whose it is
    where there is one.
    """
    return _run_again(run, "--logstore", folder or ".")


def _run_again(run: RunSummary, *options: str) -> list[str]:
    program = run.argv or [run.program or run.program_name or "PROGRAM"]
    return ["iotune", "run", *options, "--", *_launcher(run), *program]


def _launcher(run: RunSummary) -> list[str]:
    if run.ranks < 2:
        return []
    named = "mpirun.openmpi" if "open mpi" in run.mpi.lower() else "mpirun.mpich"
    return [named if shutil.which(named) else "mpirun", "-n", str(run.ranks)]


def _offered(offer: Offer, run: RunSummary, paths: Iterable[str]) -> Offered:
    files = tuple(paths)
    if isinstance(offer, GatherOffer):
        service, command = "gather", _run_again(run, "--gather")
    else:
        service, command = "logstore", command_of(run, os.path.dirname(files[0]))
    found = remembered([run.identity or run.program_name], service, run.ranks)
    return Offered(offer, files, tuple(command), line_of(found, service, run.ranks))
