"""Fitted response times that trainings of a storage use: one small JSON file a file system and kind
of machine, in the folder `latency` beside the database.

A lower database's folder (a site's) is asked behind the user's own.
"""

from __future__ import annotations

import json
import math
import platform as machine
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iotune.errors import Error, shown
from iotune.output_file import write_text

if TYPE_CHECKING:
    from iotune.models.latency.fitting import LatencyFit
    from iotune.models.latency.order_statistics import Distribution
    from iotune.models.latency.samples import Kind

FORMAT, VERSION = "iotune-latency", 2
_AGAIN = "iotune latency fit --keep writes it again"


@dataclass(frozen=True)
class KeptKind:
    """One kind of request."""

    operation: str
    cache: str
    interface: str
    bytes: int
    samples: int
    correlation: float  # of servers that are asked at once
    times: Distribution


@dataclass(frozen=True)
class KeptLatency:
    """What was fitted for a storage."""

    filesystem: str
    host_class: str
    directory: str  # that was sampled
    kinds: tuple[KeptKind, ...]

    def of(self, operation: str) -> list[KeptKind]:
        """One kind a size, the least first: cold ones, by MPI-IO, where there are such."""
        best: dict[int, KeptKind] = {}
        for one in sorted(
            (one for one in self.kinds if one.operation == operation),
            key=lambda one: (one.cache != "cold", one.interface != "mpiio"),
        ):
            best.setdefault(one.bytes, one)
        return [best[size] for size in sorted(best)]


def kept_path(database: Path, filesystem: str, host_class: str | None = None) -> Path:
    """Beside the database."""
    name = f"{filesystem}-{host_class or machine.machine()}.json"
    return database.parent / "latency" / name


def keep(
    fits: Mapping[Kind, LatencyFit], correlations: Mapping[Kind, float], database: Path,
    filesystem: str, directory: str,
) -> Path:  # fmt: skip
    """Store what has a tail; the file. Raises Error where nothing has, or nothing can be stored."""
    from iotune.models.latency.response_times import response_times_to_dict

    kinds = [
        {"operation": kind.operation, "cache": kind.cache, "interface": kind.interface,
         "bytes": kind.bytes, "samples": fit.samples, "correlation": correlations.get(kind, 0.0),
         "times": response_times_to_dict(fit.times)}
        for kind, fit in fits.items()
        if fit.times.tail is not None
    ]  # fmt: skip
    if not kinds:
        raise Error("no kind of request has a tail: there is nothing to keep")
    path = kept_path(database, filesystem)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise Error(f"{path.parent}: {problem.strerror}") from None
    write_text(path, json.dumps({
        "format": FORMAT, "version": VERSION, "filesystem": filesystem,
        "host_class": machine.machine(), "directory": directory,
        "fitted_at": time.time(), "kinds": kinds,
    }, indent=1) + "\n")  # fmt: skip
    return path


def kept_of(databases: Iterable[Path], filesystem: str) -> KeptLatency | None:
    """The first that is there for this file system and kind of machine. Raises Error for none."""
    for database in databases:
        path = kept_path(database, filesystem)
        try:
            text = path.read_text()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as problem:
            raise Error(f"{path}: {getattr(problem, 'strerror', None) or problem}") from None
        return _read(text, path, filesystem)
    return None


def _read(text: str, path: Path, filesystem: str) -> KeptLatency:
    try:
        said = json.loads(text)
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise ValueError("it is no file of fitted response times")
        if said.get("version") != VERSION:
            raise ValueError(f"it is of version {shown(str(said.get('version')))}, not {VERSION}")
        if (said["filesystem"], said["host_class"]) != (filesystem, machine.machine()):
            raise ValueError(
                f"it is of {shown(str(said['filesystem']))} on {shown(str(said['host_class']))}"
            )
        kinds = tuple(_kind(one) for one in said["kinds"])
    except (ValueError, TypeError, KeyError, Error, RecursionError) as problem:
        raise Error(f"{path}: {shown(_words(problem))}; {_AGAIN}") from None
    return KeptLatency(filesystem, said["host_class"], str(said.get("directory", "")), kinds)


def _words(problem: Exception) -> str:
    return f"it has no {problem.args[0]}" if isinstance(problem, KeyError) else str(problem)


def _kind(said: Mapping[str, Any]) -> KeptKind:
    from iotune.models.latency.response_times import response_times_from_dict

    one = KeptKind(
        str(said["operation"]), str(said["cache"]), str(said["interface"]), int(said["bytes"]),
        int(said["samples"]), float(said["correlation"]), response_times_from_dict(said["times"]),
    )  # fmt: skip
    if one.bytes <= 0 or not (math.isfinite(one.correlation) and 0 <= one.correlation < 1):
        raise ValueError("a size or a correlation is out of range")
    return one
