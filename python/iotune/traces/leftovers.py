"""Traces out of buffers that their processes left behind.

A process that was killed, or that never called MPI_Finalize, leaves its buffer
(recorder/FORMAT.md, "Process buffer") in `<buffer root>/<run id>/`. The next iotune command
joins the buffers of each run into that run's trace. A run is touched only when no process of
it is alive on this host, so that a living run is never torn in two.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from iotune import core
from iotune.errors import Error
from iotune.locations import (
    TRACE_SUFFIX,
    buffer_root,
    host_label,
    kept_traces,
    made_traces_dir,
    share_trace,
    state_dir,
    trace_name,
    traces_dir,
    trim_traces,
)
from iotune.output_file import demand_replaceable
from iotune.traces.summary import run_summary
from iotune.traces.trace import is_trace

_HEADER = struct.Struct("<8sIIIIQQQQ16xQ")
_JOINED = 2
# Beside a buffer: a link to the blocks that left its memory (recorder/FORMAT.md, "Spill").
_SPILL_SUFFIX = ".iospill"
# An empty directory this young may belong to a process that is about to write into it.
_YOUNG_SECONDS = 60.0
# A spill file without a buffer for so long has lost it.
_OF_A_LOOK_BYTES = 1 << 20  # as recorder/gather/worth.cpp has it
_ORPHAN_SECONDS = 86400.0


# A file as it is now: inode, time of its last change in ns, bytes.
Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """What tells whether a file is another one later; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


@dataclass(frozen=True)
class Buffer:
    """A process buffer, as its header and name tell."""

    path: Path
    host: str
    pid: int
    joined: bool
    started: float  # seconds since the epoch, of the first recorded call
    last: float  # of the last sign of life in the header

    @property
    def alive(self) -> bool:
        """Whether its process still writes it; True where that cannot be known (another host)."""
        if self.host != host_label():
            return True
        try:
            maps = Path(f"/proc/{self.pid}/maps").read_text(errors="surrogateescape")
        except FileNotFoundError:
            return False
        except ProcessLookupError:
            return False
        except PermissionError:
            return _process_start(self.pid) <= self.started + 1.0
        # A process that called exec, or another one of the same pid, has it not mapped.
        return str(self.path) in maps


def _process_start(pid: int) -> float:
    """When a process began, in seconds since the epoch; infinity where it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return float("inf")
    ticks = int(stat.rpartition(")")[2].split()[19])
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + ticks / os.sysconf("SC_CLK_TCK")


def read_buffer(path: Path) -> Buffer | None:
    """A buffer's header; None where the file is none, or not yet one."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
        magic, _, _, pid, state, _, wall_ns, _, last_ns, calls = _HEADER.unpack(header)
    except (OSError, struct.error):
        return None
    if magic[:6] != b"IOTBUF":
        return None
    name = re.fullmatch(r"(.+)\.(\d+)\.[^.]+\.[^.]+\.iobuf", path.name)
    host = name.group(1) if name else host_label()
    last = max(wall_ns, last_ns) / 1e9
    joined = state == _JOINED and not _has_more_calls(path, calls)
    return Buffer(path.resolve(), host, pid, joined, wall_ns / 1e9, last)


def _has_more_calls(path: Path, calls: int) -> bool:
    """Whether a process went on after its trace was written, and then died without a word."""
    with contextlib.suppress(Error):
        return sum(int(process["calls"]) for process in core.processes(path)) > calls
    return False


def buffers_of(run_directory: Path) -> list[Buffer]:
    """The readable buffers of a run, in the order of their start."""
    found = [read_buffer(path) for path in run_directory.glob("*.iobuf")]
    return sorted((one for one in found if one), key=lambda one: (one.started, one.pid))


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Whether no other command collects this directory, for as long as the block runs."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(descriptor).st_uid == os.getuid()
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def run_of_iotune(run_id: str) -> Iterator[Path]:
    """A run that a command starts for itself: its directory of buffers, which goes however it ends.

    What it leaves would be taken for the user's last run.
    """
    buffers = buffer_root() / run_id
    try:
        yield buffers
    finally:
        shutil.rmtree(buffers, ignore_errors=True)


def collect_run(
    run_directory: Path,
    trace: Path | None = None,
    patience_seconds: float = 0.0,
    observe: bool = True,
    before: Stamp | None = None,
) -> Path | None:
    """Join what a run left into its trace, and remove its directory.

    `trace` is where a run with a known trace goes, which may exist already: rank 0 joins what
    it can reach at MPI_Finalize, and the launcher's own buffers are added here. Without it, the
    trace that a process wanted which could not write it itself (IOTUNE_TRACE), else a new name
    in the default directory. Waits `patience_seconds` for processes to end, then
    leaves the run as it is. `observe`: a run that left no observation by itself gets one.
    `before`: what was at `trace` when the run began, which its trace replaces.
    Returns the trace where one was written.
    """
    with _alone(run_directory) as ours:
        if not ours:
            return None
        until = time.monotonic() + patience_seconds
        while True:
            buffers = buffers_of(run_directory)
            if not any(one.alive for one in buffers):
                break
            if time.monotonic() >= until:
                return None
            time.sleep(0.05)
        if trace is None:
            wanted = (path for one in buffers if (path := _wanted_trace(one)))
            trace = next((path for path in wanted if _may_hold_trace(path)), None)
        done = [one for one in buffers if one.joined or _is_empty(one)]
        _remove(done)
        fresh = [one for one in buffers if one not in done]
        written = None
        if fresh and (trace or _trace_of(run_directory.name) or _is_worth_a_trace(fresh)):
            written = _join(fresh, run_directory.name, trace, observe, before)
        elif fresh:
            _remove(fresh)
        for link in run_directory.glob(f"*{_SPILL_SUFFIX}"):
            if not link.with_suffix(".iobuf").exists():
                _remove_spill(link)
        with contextlib.suppress(OSError):
            if buffers or time.time() - run_directory.stat().st_mtime > _YOUNG_SECONDS:
                run_directory.rmdir()
        return written


def _words_of(buffer: Buffer) -> dict[str, object]:
    """What its PROCESS blocks say; nothing where it cannot be read."""
    with contextlib.suppress(Error):
        for process in core.processes(buffer.path):
            return dict(process)
    return {}


def _wanted_trace(buffer: Buffer) -> Path | None:
    """Where the process's user wants its calls, if they may go there.

    A process that gave up rights left the whole trace to us, and so did one that was killed or
    that a launcher started without MPI. A trace that is there takes calls of its own command line
    alone (core/process/process_tree.h): of children that ended by _exit.
    """
    words = _words_of(buffer)
    path = Path(str(words.get("trace", "")))
    if not path.is_absolute():
        return None
    if words.get("narrowed") == "yes" or not os.path.lexists(path) or _is_of_tree(path, words):
        return path
    return None


def _is_of_tree(trace: Path, words: Mapping[str, object]) -> bool:
    tree = words.get("tree")
    if not tree or not _may_hold_trace(trace):
        return False
    with contextlib.suppress(Error):
        return any(process.get("tree") == tree for process in core.processes(trace))
    return False


def _may_hold_trace(path: Path) -> bool:
    """Whether a trace may be written there: else it goes to the default directory."""
    try:
        demand_replaceable(path)
        return not path.exists() or path.stat().st_size == 0 or is_trace(path)
    except (Error, OSError):
        return False


def _is_empty(buffer: Buffer) -> bool:
    """Whether its process gave up rights, had a buffer in case, and then called nothing."""
    words = _words_of(buffer)
    return words.get("narrowed") == "yes" and not _has_more_calls(buffer.path, 0)


def _remove(buffers: list[Buffer]) -> None:
    for one in buffers:
        _remove_spill(one.path.with_suffix(_SPILL_SUFFIX))
        one.path.unlink(missing_ok=True)


def _is_worth_a_trace(buffers: list[Buffer]) -> bool:
    """Whether the processes of a run did enough, as recorder/gather/worth.h has it for one.

    A process that was asked for a trace, by IOTUNE_TRACE or `iotune run`, says no least.
    """
    moved = data = written = 0
    of_mpi = of_library = False
    for one in buffers:
        words = _words_of(one)
        if "keep_above" not in words:
            return True
        try:
            summary = run_summary(core.summarize(one.path))
        except Error:
            return True  # to be reported by the code that reads the trace
        moved += sum(file.bytes for file in summary.files)
        data += sum(file.bytes for file in summary.data_files)
        written += sum(file.bytes_written for file in summary.data_files)
        of_mpi = of_mpi or bool(summary.mpi)
        of_library = of_library or bool(summary.hdf5)
        if summary.dropped or moved > int(str(words["keep_above"])):
            return True
    return (of_mpi and data > 0) or (of_library and (written > 0 or data >= _OF_A_LOOK_BYTES))


def _remove_spill(link: Path) -> None:
    """Remove the spill file that a link beside its buffer leads to, and the link."""
    with contextlib.suppress(OSError):
        target = Path(os.readlink(link))
        # Of another name it is not one that the buffer's process has made.
        if target.name == link.name:
            target.unlink(missing_ok=True)
        link.unlink()


def _join(
    buffers: list[Buffer], run_id: str, trace: Path | None, observe: bool, before: Stamp | None
) -> Path:
    now = None if trace is None else stamp_of(trace)
    if now is not None and now != before and trace is not None:
        # An mpirun within the command has left its own run there.
        own = _run_of(trace) == run_id or any(_is_of_tree(trace, _words_of(b)) for b in buffers)
        trace = trace if own else None
    named = trace is not None
    if trace is None:
        trace = _trace_of(run_id)
    if trace is None:
        name = trace_name(_program(buffers), run_id, buffers[0].started)
        trace = made_traces_dir() / name
    existed = trace.exists() and stamp_of(trace) != before
    core.join([one.path for one in buffers], trace, remove=True)
    share_trace(trace)
    if not named:
        # The newest trace is that of the last run, and not of the last that was joined.
        last = max(one.last for one in buffers)
        os.utime(trace, (last, last))
    if observe and not existed and not core.site_is_frozen() and _may_teach(trace):
        # Rank 0 leaves its observation itself; a run without one is observed here.
        with contextlib.suppress(Error):
            core.observe(trace)
    return trace


def _is_of_our_state(run_directory: Path) -> bool:
    """Whether the run was one of this state folder's.

    Several homes, projects or people may share an account and so a buffer root: what a run left is
    joined by the commands that would have found its trace. Buffers that do not say are anybody's.
    """
    ours = os.path.realpath(state_dir())
    said = False
    for path in run_directory.glob("*.iobuf"):
        with contextlib.suppress(Error):
            for process in core.processes(path):
                state = str(process.get("state", ""))
                # Of a program that became this user, the one before may have set the folder.
                if state and not _may_be_made(Path(state)):
                    continue
                if state and os.path.realpath(str(state)) == ours:
                    return True
                said = said or bool(state)
    return not said


def _may_be_made(folder: Path) -> bool:
    """Whether this user may write there, or make it."""
    while not os.path.exists(folder) and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _may_teach(trace: Path) -> bool:
    """Whether the run was to be learnt from and no rank is missing.

    Of some of a run's ranks nothing is learnt of its patterns. (In a trace that the run itself
    wrote, ranks that are missing did nothing.)
    """
    ranks, size = set(), 0
    with contextlib.suppress(Error):
        for process in core.processes(trace):
            if process.get("learns") == "no":
                return False
            ranks.add(int(process.get("rank", -1)))
            size = max(size, int(process.get("size", 0)))
    return size <= 1 or len(ranks - {-1}) >= size


def _trace_of(run_id: str) -> Path | None:
    """The run's trace in the default directory: calls after MPI_Finalize belong into it."""
    named = (path for path in kept_traces() if path.name.endswith(f"-{run_id}{TRACE_SUFFIX}"))
    return next((path for path in named if _run_of(path) == run_id), None)


def _run_of(trace: Path) -> str:
    with contextlib.suppress(Error):
        for process in core.processes(trace):
            return str(process.get("run", ""))
    return ""


def _program(buffers: list[Buffer]) -> str:
    """The program's name out of the first PROCESS block that says one; ranks go first."""
    best = "program"
    for one in buffers:
        with contextlib.suppress(Error):
            for process in core.processes(one.path):
                name = os.path.basename(str(process.get("program", "")))
                if name and int(process.get("rank", -1)) >= 0:
                    return name
                best = name if name and best == "program" else best
    return best


def _orphans() -> Iterator[Path]:
    """Spill files of this host in the default directory whose buffers are gone: it was rebooted."""
    for path in sorted(traces_dir().glob(f"*{_SPILL_SUFFIX}")):
        name = re.fullmatch(r"(.+)\.(\d+)\.[^.]+\.[^.]+", path.stem)
        if name is None or name.group(1) != host_label() or path.is_symlink():
            continue
        with contextlib.suppress(OSError):
            old = time.time() - path.stat().st_mtime > _ORPHAN_SECONDS
            began = _process_start(int(name.group(2)))
            linked = any(buffer_root().glob(f"*/{path.name}"))
            if old and not linked and began > path.stat().st_mtime:
                yield path


def _join_orphan(spill: Path) -> Path:
    run_id = _run_of(spill)
    trace = _trace_of(run_id)
    if trace is None:
        process = next(iter(core.processes(spill)), {})
        name = os.path.basename(str(process.get("program", ""))) or "program"
        trace = made_traces_dir() / trace_name(name, run_id, spill.stat().st_mtime)
    last = spill.stat().st_mtime
    core.join([spill], trace, remove=True)
    share_trace(trace)
    os.utime(trace, (last, last))
    return trace


def collect_for(trace: Path) -> None:
    """Join what processes have left that wanted this trace and could not write all of it."""
    wanted = trace.absolute()
    with contextlib.suppress(OSError):
        for directory in sorted(buffer_root().iterdir()):
            if directory.is_symlink() or not directory.is_dir():
                continue
            if any(_wanted_trace(one) == wanted for one in buffers_of(directory)):
                with contextlib.suppress(Error, OSError):
                    collect_run(directory, observe=os.environ.get("IOTUNE_DB") != "none")


def collect_all() -> list[Path]:
    """Collect every run of this user that has ended; returns the traces, oldest first."""
    written = []
    root = buffer_root()
    try:
        directories = sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        directories = []
    for directory in directories:
        if directory.is_symlink() or not _is_of_our_state(directory):
            continue
        with contextlib.suppress(Error, OSError):
            trace = collect_run(directory, observe=os.environ.get("IOTUNE_DB") != "none")
            if trace:
                written.append(trace)
    for spill in _orphans():
        with contextlib.suppress(Error, OSError):
            written.append(_join_orphan(spill))
    if written:
        trim_traces()
    return written
