"""Shared files that are kept as logs: read from Python, and the command `iotune log`."""

from iotune.logstore.container import (
    Compacted,
    LogContainer,
    LogMap,
    LogWriter,
    compact,
    is_container,
)

__all__ = ["Compacted", "LogContainer", "LogMap", "LogWriter", "compact", "is_container"]
