"""Shared files that are kept as logs: read from Python, and the command `iotune log`."""

from iotune.logstore.container import LogContainer, LogWriter, is_container

__all__ = ["LogContainer", "LogWriter", "is_container"]
