"""What another tool's log says of a run as a whole: totals of files, times of the job, its gaps.

`iotune import` keeps it with the trace's first process, as JSON (recorder/FORMAT.md, `log`).
summarized() joins it to what the trace's calls say, so that every command sees one run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from iotune import core
from iotune.errors import Error
from iotune.traces.summary import FilePattern, RunSummary, file_pattern, run_summary

# Logs of the calls that reach the kernel: a program's calls of MPI-IO are in none of these.
_KERNEL_ALONE = ("strace", "fuse", "dftracer", "csv")
_LEAST_AGGREGATED_BYTES = 4096  # less is book-keeping of one rank
_NO_CALLS = (
    "the log has totals of files and no calls: patterns, places and the order of calls are not "
    "known"
)


def said_by_log(path: Path) -> dict[str, Any] | None:
    """What the log said that a trace was imported from; None for a run of iotune's own."""
    for process in core.processes(path):
        text = process.get("log")
        if text:
            try:
                said = json.loads(text)
            except ValueError:
                said = None
            if not isinstance(said, dict):
                raise Error(f"{path}: what its log said is damaged: import the log again")
            return {**said, "ranks": int(process.get("size") or 1)}
    return None


def summarized(path: Path) -> dict[str, Any]:
    """analyzer::RunSummary of a trace as plain values, with what its log says beside the calls.

    Of a run of iotune's own that is all. Else `log` has the format, its version, seconds of the
    job, modules, by_rank and heatmap; a file's `totals` are None where the log has none of it.
    """
    files: list[dict[str, Any]] = []
    raw = _joined(path, files.append)
    return {**raw, "files": [*files, *raw["files"]]}


def run_of(path: Path, fold: bool = False) -> RunSummary:
    """The same as a RunSummary. Of its files no other form is kept meanwhile.

    With `fold` files that are alike are one, with `alike`, unless its log says more of each.
    """
    files: list[FilePattern] = []
    run = run_summary(_joined(path, lambda file: files.append(file_pattern(file)), fold))
    run.files[:0] = files
    return run


def _joined(
    path: Path, take: Callable[[dict[str, Any]], None], fold: bool = False
) -> dict[str, Any]:
    """The run but for files of the trace's calls, each of which `take` gets."""
    said = said_by_log(path)
    if said is None:
        return core.summarize(path, take=take, fold=fold)
    log = _Log(said)
    fold = fold and not said.get("files") and not said.get("modes")
    raw = core.summarize(path, take=lambda file: take(log.joined_file(file)), fold=fold)
    log.join_run(raw)
    return raw


def losses_of(path: Path) -> list[str]:
    """core.losses(), and what the log that the trace was imported from says of its gaps."""
    return [*losses_of_log(path), *core.losses(path)]


def losses_of_log(path: Path) -> list[str]:
    """What the log that a trace was imported from says of its gaps; of our own nothing."""
    said = said_by_log(path)
    return [] if said is None else _losses(said)


def demand_calls(path: Path, verb: str) -> None:
    """Raise Error for a trace of a log that has no calls; `verb`: what is wanted of it."""
    said = said_by_log(path)
    if said is not None and not said.get("has_calls", True):
        raise Error(
            f"{path}: cannot be {verb}: its log has totals of files and no calls (with Darshan "
            "DXT_ENABLE_IO_TRACE=1 records them)"
        )


def _losses(said: Mapping[str, Any]) -> list[str]:
    own = [] if said.get("has_calls", True) else [_NO_CALLS]
    return [*own, *said.get("losses", [])]


class _Log:
    """What a log says, for the files of its trace's calls and then for the run."""

    def __init__(self, said: Mapping[str, Any]):
        self._said = said
        self._has_aggregators = (  # for all that is known
            said.get("format") in _KERNEL_ALONE and not said.get("modes") and said["ranks"] > 1
        )
        self._modes: dict[str, list[tuple[str, str]]] = {}
        for path, way, mode in said.get("modes", []):
            self._modes.setdefault(path, []).append((way, mode))
        # Those that no call was seen of, in the end.
        self._totals = {totals["path"]: totals for totals in said.get("files", [])}

    def joined_file(self, file: dict[str, Any]) -> dict[str, Any]:
        """The file with its totals; each is given once."""
        for way, mode in self._modes.get(file["path"], []):
            for dataset in file["datasets"]:
                if dataset["layer"] == "mpiio" and dataset["write"] == (way == "write"):
                    dataset["mode"] = mode
        if self._has_aggregators:
            for dataset in file["datasets"]:
                _name_possible_aggregators(dataset)
        totals = file["totals"] = self._totals.pop(file["path"], None)
        if totals is not None:
            _name_aggregators(file, totals)
            for key in ("bytes_read", "bytes_written"):
                file[key] = max(file[key], totals.get(key, 0))
        return file

    def join_run(self, raw: dict[str, Any]) -> None:
        """The run, after its files: those that no call was seen of are added."""
        said = self._said
        raw["log"] = {
            **{key: said.get(key) for key in ("format", "format_version", "modules", "by_rank")},
            **{"has_calls": said.get("has_calls", True), "heatmap": said.get("heatmap")},
            "modes": said.get("modes", []),
            "seconds": said.get("seconds", 0.0),
        }
        before = 0.0  # the job's start before the first call, from which the trace counts
        if said.get("start_ns"):
            start = said["start_ns"] / 1e9
            if raw["calls"]:
                before = max(0.0, raw["start_unix_seconds"] - start)
            else:
                raw["start_unix_seconds"] = start
        raw["warnings"] = [*_losses(said), *raw["warnings"]]
        # The job's time, and not from the first call that was logged to the last one.
        raw["elapsed_seconds"] = max(said.get("seconds", 0.0), raw["elapsed_seconds"])
        raw["files"] += [_file_of(totals, before) for totals in self._totals.values()]
        if said.get("files"):
            raw["io_seconds"] = max(raw["io_seconds"], _slowest_rank(raw["ranks"], said))


def _bytes_of(one: Mapping[str, Any]) -> int:
    return int(math.prod(one["dataset_dims"]) * one["element_bytes"])


def _aggregated(one: Mapping[str, Any]) -> str:
    """Who moved a dataset as aggregators, and the file's array, where its bytes are one."""
    noun = "aggregator" if one["ranks"] == 1 else "aggregators"
    text = f"{'written' if one['write'] else 'read'} by {one['ranks']} {noun}"
    is_array = "IRREGULAR" not in one["descriptor"]["text"] and ", " not in one["dataset"]
    return f"{text}, as <1D,(*),({_bytes_of(one)})>" if is_array else text


def _name_possible_aggregators(one: dict[str, Any]) -> None:
    """Where nothing says whether MPI-IO was used, its aggregators may have moved what ranks did."""
    if one["layer"] != "posix" or _bytes_of(one) < _LEAST_AGGREGATED_BYTES:
        return
    may_be = f"or, where MPI-IO was collective, {_aggregated(one)}: the log has no calls of MPI-IO"
    one["ambiguity"] = "; ".join(filter(None, (one["ambiguity"], may_be)))


def _name_aggregators(file: dict[str, Any], totals: Mapping[str, Any]) -> None:
    """Where MPI-IO was collective and only POSIX was traced, its ranks are no division of the file.

    What is known is the file's array, and how many processes wrote it for all.
    """
    calls = {use["layer"]: use.get("calls", {}) for use in totals.get("layers", [])}.get(
        "mpiio", {}
    )
    for write, verb in ((True, "write"), (False, "read")):
        own = [one for one in file["datasets"] if one["write"] == write]
        together = calls.get(f"collective {verb}", 0) + calls.get(f"split {verb}", 0)
        alone = calls.get(f"independent {verb}", 0) + calls.get(f"nonblocking {verb}", 0)
        if not together or alone or any(one["layer"] == "mpiio" for one in own):
            continue
        for one in own:
            size, said = _bytes_of(one), _aggregated(one)
            count = -(-one["bytes"] // max(1, one["ranks"] * max(1, one["repeats"])))
            part = {"distribution": "IRREGULAR", "count": count, "cyclic_block": 1}
            one["descriptor"] = {"text": f"<1D,(IRREGULAR),({count})>", "dimensions": [part]}
            one |= {"process_grid": [], "halo": [], "mode": "collective"}
            one |= {"dataset_dims": [size], "element_bytes": 1}
            one["ambiguity"] = f"{said}; what each rank held is not in the log"


def _file_of(totals: Mapping[str, Any], before: float) -> dict[str, Any]:
    path = totals["path"]
    begin, end = totals.get("begin_seconds", 0.0), totals.get("end_seconds", 0.0)
    return {
        "path": path,
        "masked_name": re.sub(r"[0-9]+", "#", path.rpartition("/")[2]),
        "bytes_written": totals.get("bytes_written", 0),
        "bytes_read": totals.get("bytes_read", 0),
        "io_seconds": totals.get("io_seconds", 0.0),
        "elapsed_seconds": max(0.0, end - begin),
        "opened_at_seconds": max(0.0, begin - before),
        **{"datasets": [], "speaker": None, "speaker_count": 0, "sampled_out": False},
        "is_stdout": bool(totals.get("is_standard")),
        **{"decision_source": "", "decision_pattern": "", "decision_message": ""},
        **{"decision_row": -1, "decision_distance": 0.0, "decision_state": ""},
        **{"settings": [], "prefetch": None, "gather": None, "totals": totals},
    }


def rank_seconds(ranks: int, said: Mapping[str, Any]) -> dict[int, float]:
    """The seconds in I/O of ranks of which something is known by itself.

    Of a file that all ranks share the log has the slowest rank's time and the sum: the others are
    taken for equal.
    """
    found = {int(rank): sums[2] + sums[3] for rank, sums in said.get("by_rank", {}).items()}
    common = 0.0
    for file in said.get("files", []):
        uses = {use["layer"]: use for use in file.get("layers", [])}
        outermost = [uses[name] for name in ("mpiio", "posix") if name in uses][:1]
        for use in [*outermost, *(one for name, one in uses.items() if name == "stdio")]:
            if use.get("ranks", 0) < ranks or ranks < 2:
                continue
            slowest = use.get("slowest")
            if slowest is None or "read_seconds" not in use and "write_seconds" not in use:
                continue
            total = sum(use.get(f"{key}_seconds", 0.0) for key in ("read", "write", "meta"))
            mean = total / ranks
            common += mean
            rank = int(slowest["rank"])
            found[rank] = found.get(rank, 0.0) + slowest["seconds"] - mean
    return {rank: seconds + common for rank, seconds in found.items()} or {0: common}


def _slowest_rank(ranks: int, said: Mapping[str, Any]) -> float:
    return max(rank_seconds(ranks, said).values())
