"""Reissue a recorded run's I/O natively: the same accesses by every rank, without the program.

  iotune replay TRACE                       HDF5's transfers; else the calls of MPI-IO and POSIX
  iotune replay TRACE --layer posix         what reached the file system
  iotune replay TRACE --pause keep -n 2     with the program's pauses, on two ranks
  iotune replay TRACE --plan-only > vpic.plan
  iotune replay vpic.plan --dir /scratch
  iotune replay map.csv --mpiio             the writes of a map, one file (iotune log map)
  iotune replay TRACE --emit-c vpic.c       a kernel in C that needs MPI and HDF5 alone

A trace, also an imported one, is turned into a plan first (kernels/replay/PLAN.md,
kernels/replay_calls/CALL_PLAN.md). Files are written into a directory of their own below --dir,
never over the run's, and removed afterwards.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Annotated, Optional

import typer

from iotune.cli.output import (
    count_text,
    document,
    errors_in_one_line,
    next_command,
    paragraph,
    print_json,
    rate_text,
    say,
    seconds_text,
    size_text,
    value_of,
)
from iotune.errors import Error
from iotune.output_file import demand_replaceable, write_text
from iotune.replay.emit_c import c_source
from iotune.replay.map_plan import is_map, write_map_plan
from iotune.replay.mpi import Mpi, find_mpi
from iotune.replay.plan import Plan, plan_text
from iotune.replay.plan_build import plan_bytes
from iotune.replay.plan_calls import VERSION_LINE as CALLS_LINE
from iotune.replay.plan_calls import has_hdf5_transfers, pause_rule, write_call_plan
from iotune.replay.plan_trace import plan_of_trace
from iotune.replay.replayer import find_call_replayer, find_replayer, run_plan, scratch_directory
from iotune.reports.losses import say_losses
from iotune.traces.log_totals import demand_calls, losses_of
from iotune.traces.trace import Trace, open_trace

_VERSION_LINE = "iotune-plan "


class Layer(str, Enum):
    """Whose calls are reissued."""

    hdf5 = "hdf5"
    mpi = "mpi"
    posix = "posix"


@dataclass
class _Wanted:
    """What of a trace or a map is replayed, and how."""

    layer: Optional[str]
    file: Optional[str]
    ranks: Optional[int]
    pause: str
    read: bool
    mpiio: bool

    def are_defaults(self) -> bool:
        return self.layer is None and self.file is None and self.pause == "none"

    def demand_none_of_maps(self, source: Path) -> None:
        if self.read or self.mpiio:
            option = "--read" if self.read else "--mpiio"
            raise Error(f"{option} is for maps, and {source} is none")


@dataclass
class _Planned:
    """A plan in a file of its own."""

    path: Path
    ranks: int
    needed_bytes: int  # 0: unknown
    prepares: bool
    of_calls: bool
    of_map: bool = False

    def replayer(self, mpi: Mpi) -> Path:
        return find_call_replayer(mpi) if self.of_calls else find_replayer(mpi)


@errors_in_one_line
def command(
    source: Annotated[Path, typer.Argument(metavar="TRACE|PLAN|MAP", help="What to reissue.")],
    ranks: Annotated[
        Optional[int],
        typer.Option("-n", "--ranks", min=1, help="Number of ranks. Default: the trace's own."),
    ] = None,
    directory: Annotated[
        Optional[Path],
        typer.Option("--dir", metavar="DIR", help="Where to write. Default: the current folder."),
    ] = None,
    file: Annotated[
        Optional[str], typer.Option("--file", metavar="PATH", help="Only this file of the trace.")
    ] = None,
    layer: Annotated[
        Optional[Layer],
        typer.Option("--layer", help="Default: HDF5 where it moved data, else the outermost."),
    ] = None,
    pause: Annotated[
        str,
        typer.Option(
            "--pause",
            metavar="keep|none|TIME|xFACTOR",
            help="Pause between a rank's calls: as recorded, none, fixed, scaled.",
        ),
    ] = "none",
    repeat: Annotated[int, typer.Option(min=1, help="Number of rounds.")] = 1,
    verify: Annotated[
        bool, typer.Option("--verify", help="With HDF5: check every byte; not timed.")
    ] = False,
    read: Annotated[
        bool, typer.Option("--read", help="With a map: read the places instead of writing them.")
    ] = False,
    mpiio: Annotated[
        bool, typer.Option("--mpiio", help="With a map: use MPI-IO, not pwrite and pread.")
    ] = False,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Print the plan.")] = False,
    emit_c: Annotated[
        Optional[Path],
        typer.Option("--emit-c", metavar="FILE", help="Write a stand-alone C kernel; - is stdout."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replay it."""
    wanted = _Wanted(layer.value if layer else None, file, ranks, pause, read, mpiio)
    if emit_c is not None:
        wanted.demand_none_of_maps(source)
        _emit(source, wanted, emit_c)
        return
    with _plan(source, wanted) as planned:
        if verify and planned.of_calls:
            raise Error("--verify is for HDF5: calls of MPI-IO and POSIX have no known content")
        if plan_only:
            with planned.path.open(errors="surrogateescape") as text:
                for line in text:
                    document(line.rstrip("\n"))
            next_command("iotune", "replay", str(source))
            return
        options = ["--repeat", str(repeat)]
        options += ["--prepare"] if planned.prepares else []
        options += ["--verify"] if verify else []
        mpi = find_mpi()
        replayer = planned.replayer(mpi)
        parent = (directory or Path.cwd()).absolute()
        with scratch_directory(parent, planned.needed_bytes) as scratch:
            result = run_plan(mpi, replayer, planned.path, planned.ranks, scratch, options)
    if as_json:
        print_json("replay", vars(result) | {"ranks": planned.ranks})
    else:
        paragraph(
            f"{size_text(result.bytes)} in {seconds_text(result.seconds)} "
            f"({rate_text(result.bytes / result.seconds if result.seconds > 0 else 0.0)}), "
            f"{count_text(result.files, 'file')}, {count_text(planned.ranks, 'rank')}, "
            f"{count_text(len(result.rounds), 'round')}" + (", verified" if verify else "")
        )
    if not planned.of_map:
        next_command("iotune", "train", why="tries settings on such replays")


def _emit(source: Path, wanted: _Wanted, target: Path) -> None:
    if wanted.layer not in (None, "hdf5"):
        raise Error("--emit-c is for HDF5's transfers: without --layer")
    if str(target) != "-":
        demand_replaceable(target)
    plan, notes = _hdf5_plan(_opened(source), wanted)
    text = c_source(plan, source.name, notes)
    for note in notes:
        say(note)
    if str(target) == "-":
        document(text)
    else:
        write_text(target, text)
    # Not h5pcc: Debian's links HDF5 statically, and then iotune sees no call of it.
    say(f"next: mpicc -O2 {target} $(pkg-config --cflags --libs hdf5-mpich)")


@contextlib.contextmanager
def _plan(source: Path, wanted: _Wanted) -> Iterator[_Planned]:
    if not source.is_file() and source.exists():
        open_trace(source)  # says what it is
    try:
        with source.open("rb") as opened:
            start = opened.read(len(CALLS_LINE))
    except OSError as problem:
        raise Error(f"{source}: {problem.strerror}") from None
    of_calls = start == CALLS_LINE.encode()
    if of_calls or start.startswith(_VERSION_LINE.encode()):
        wanted.demand_none_of_maps(source)
        if not wanted.are_defaults():
            raise Error("--layer, --file and --pause are for traces: a plan has them in it")
        yield _given_plan(source, of_calls, wanted.ranks)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".plan", errors="surrogateescape") as written:
        plan_of = _plan_of_map if is_map(source) else _plan_of_trace
        planned = plan_of(source, wanted, written.file)
        written.flush()
        planned.path = Path(written.name)
        yield planned


def _given_plan(source: Path, of_calls: bool, ranks: Optional[int]) -> _Planned:
    with source.open(errors="surrogateescape") as text:
        planned_ranks = _ranks_of(source, text)
        prepares = not of_calls and any(line.endswith(" open\n") for line in text)
    if ranks is not None and ranks != planned_ranks:
        raise typer.BadParameter(f"the plan is one of {planned_ranks} ranks", param_hint="-n")
    return _Planned(source, planned_ranks, 0, prepares, of_calls)


def _opened(source: Path) -> Trace:
    """The trace; says what is missing in it, which is not replayed."""
    trace = open_trace(source)
    demand_calls(source, "replayed")
    say_losses(losses_of(source))
    return trace


def _plan_of_map(source: Path, wanted: _Wanted, written: IO[str]) -> _Planned:
    if wanted.layer is not None or wanted.file is not None:
        raise Error("--layer and --file are for traces: a map has one file, see --mpiio")
    calls = write_map_plan(
        source, written, wanted.ranks, wanted.read, wanted.mpiio, _pause_rule(wanted)
    )
    for note in calls.notes:
        say(note)
    return _Planned(source, calls.ranks, calls.needed_bytes, False, True, of_map=True)


def _plan_of_trace(source: Path, wanted: _Wanted, written: IO[str]) -> _Planned:
    pause = _pause_rule(wanted)
    wanted.demand_none_of_maps(source)
    trace = _opened(source)
    hdf5 = wanted.layer == "hdf5" or (
        wanted.layer is None and has_hdf5_transfers(trace, wanted.file)
    )
    if not hdf5:
        calls = write_call_plan(trace, written, wanted.layer, wanted.file, wanted.ranks, pause)
        for note in calls.notes:
            say(note)
        return _Planned(source, calls.ranks, calls.needed_bytes, False, True)
    plan, notes = _hdf5_plan(trace, wanted)
    for note in notes:
        say(note)
    written.write(plan_text(plan))
    return _Planned(source, plan.ranks, plan_bytes(plan), plan.prepares, False)


def _pause_rule(wanted: _Wanted) -> Callable[[int], int]:
    with value_of("--pause"):
        return pause_rule(wanted.pause)


def _hdf5_plan(trace: Trace, wanted: _Wanted) -> tuple[Plan, list[str]]:
    """The plan of a trace's HDF5 transfers on the wanted ranks, and what to say about it."""
    pause = None if wanted.pause == "none" else _pause_rule(wanted)
    plan, notes = plan_of_trace(trace, (wanted.file,) if wanted.file else (), pause)
    return (plan if wanted.ranks is None else plan.on_ranks(wanted.ranks)), notes


def _ranks_of(source: Path, text: IO[str]) -> int:
    next(text, "")
    for line in text:
        words = str(line).split("#")[0].split()
        if words[:1] == ["ranks"] and len(words) == 2 and words[1].isdigit():
            return int(words[1])
        if words:
            break
    raise Error(f"{source}:2: 'ranks N' expected")
