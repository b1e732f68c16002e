"""What of a run's I/O relies on what: accesses of two processes to the same bytes."""

from iotune.verify.conflicts import Conflicts, FileConflicts, Place, SiteConflicts, conflicts_of

__all__ = ["Conflicts", "FileConflicts", "Place", "SiteConflicts", "conflicts_of"]
