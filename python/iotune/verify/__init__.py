"""What of a run's I/O relies on what: conflicts, and whether the run's order is enough for them."""

from iotune.verify.conflicts import Conflicts, FileConflicts, Place, SiteConflicts, conflicts_of
from iotune.verify.verdicts import FileVerdict, Verdicts, Violation, verdicts_of

__all__ = [
    "Conflicts",
    "FileConflicts",
    "FileVerdict",
    "Place",
    "SiteConflicts",
    "Verdicts",
    "Violation",
    "conflicts_of",
    "verdicts_of",
]
