"""Replayers compiled once for an MPI and an HDF5, so that compute nodes compile nothing.

  iotune replayer build                              for your own runs, into your cache
  iotune replayer build --into /site/iotune/replayers
  iotune replayer build --mpicc mpicc.openmpi --hdf5 hdf5-openmpi --into DIR
  iotune replayer list                               what there is, and what this node takes

`iotune train`, `replay`, `prove` and `latency sample` look in the folder that IOTUNE_REPLAYER_DIR
names, then in that of the site (replayers = DIR in /etc/iotune.conf), then in your cache. They take
what fits their launcher's MPI, the run's HDF5 and iotune's sources. Else they compile it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune.cli.output import (
    Column,
    count_text,
    data,
    errors_in_one_line,
    next_command,
    path_text,
    print_json,
    say,
    table,
)
from iotune.errors import Error
from iotune.prebuilt.build import Wanted, build
from iotune.prebuilt.lookup import (
    SITE_FILE,
    VARIABLE,
    Asked,
    Place,
    asked_of,
    best_first,
    own_directory,
    places,
    verdict_of,
)
from iotune.prebuilt.stored import Prebuilt, sets_in
from iotune.replay.mpi import find_mpi

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("build")
@errors_in_one_line
def build_command(
    into: Annotated[
        Optional[Path],
        typer.Option(
            "--into",
            metavar="DIR",
            help="The folder to write to, also for others. Default: your cache.",
        ),
    ] = None,
    mpicc: Annotated[
        str,
        typer.Option(
            "--mpicc", metavar="COMPILER", help="The MPI compiler. Default: that of a replay here."
        ),
    ] = "",
    hdf5: Annotated[
        str,
        typer.Option(
            "--hdf5",
            metavar="ROOT|NAME",
            help="HDF5's root, or its name in pkg-config. Default: that of a replay here.",
        ),
    ] = "",
    without_hdf5: Annotated[
        bool, typer.Option("--without-hdf5", help="Build only what needs MPI alone.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Compile replayers, provers and the sampler for one MPI and one HDF5."""
    if hdf5 and without_hdf5:
        raise typer.BadParameter("it goes without --hdf5", param_hint="--without-hdf5")
    directory = Path(os.path.abspath(into)) if into is not None else own_directory()
    built = build(directory, Wanted(mpicc, hdf5, not without_hdf5))
    made = built.prebuilt
    if as_json:
        print_json("replayer-build", {**made.note(), "new": built.is_new})
    else:
        data(str(made.folder))
    hdf5_text = f"HDF5 {made.hdf5}" if made.hdf5 else "without HDF5"
    said = "built" if built.is_new else "there already"
    say(f"{said}: {count_text(len(made.programs), 'program')} for {made.mpi}, {hdf5_text}")
    if directory not in [one.directory for one in places()]:
        say(f"iotune does not look there yet: replayers = {directory} in {SITE_FILE}, or "
            f"{VARIABLE}={directory}")  # fmt: skip
    next_command("iotune", "replayer", "list", *([str(directory)] if into is not None else []))


@dataclass(frozen=True)
class _Listed:
    """A set, and what it is to this node."""

    prebuilt: Prebuilt
    place: Place
    reason: str  # why it does not fit; "": it does
    used: bool


@app.command("list")
@errors_in_one_line
def list_command(
    directory: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[DIR]",
            help="The folder to list. Default: all where a replay looks, in that order.",
        ),
    ] = None,
    as_json: _Json = False,
) -> None:
    """List what is prebuilt, and what a replay on this node takes."""
    if directory is not None and not directory.is_dir():
        raise Error(f"{directory} is no directory; iotune replayer build --into makes one")
    looked = [Place(Path(os.path.abspath(directory)), "")] if directory is not None else places()
    faults: dict[Path, list[str]] = {one.directory: [] for one in looked}
    listed = _listed(looked, faults)
    if as_json:
        print_json("replayer-list", {
            "places": [
                {"directory": str(one.directory), "named_by": one.named_by,
                 "faults": faults[one.directory]}
                for one in looked
            ],
            "sets": [
                {**one.prebuilt.note(), "fits": not one.reason, "reason": one.reason,
                 "used": one.used}
                for one in listed
            ],
        })  # fmt: skip
        return
    for place in looked:
        rows = [_row(one) for one in listed if one.place == place]
        data(f"{path_text(place.directory)}  {_words_of(place, directory is None)}".rstrip())
        if rows:
            columns = [Column("MPI"), Column("HDF5"), Column("here"), Column("folder")]
            table(columns, rows, indent=2)
        for fault in faults[place.directory]:
            say(fault)
    if listed:
        next_command("iotune", "doctor")
    else:
        say("nothing is prebuilt there")
        next_command("iotune", "replayer", "build")


def _words_of(place: Place, is_asked: bool) -> str:
    if place.named_by:
        return f"({place.named_by})"
    return "(your own)" if is_asked else ""


def _row(one: _Listed) -> list[str]:
    here = "used" if one.used else one.reason or "fits"
    return [one.prebuilt.mpi, one.prebuilt.hdf5 or "none", here, one.prebuilt.folder.name]


def _listed(looked: list[Place], faults: dict[Path, list[str]]) -> list[_Listed]:
    """All sets of these places in the order of a replay, which takes the first that fits."""
    found: list[_Listed] = []
    asked: Any = None
    for place in looked:
        try:
            sets, faulty = sets_in(place.directory, place.owner_of)
        except OSError as problem:
            if place.named_by:
                faults[place.directory].append(f"{place.directory}: {problem.strerror}")
            continue
        faults[place.directory] += faulty
        for one in best_first(sets):
            asked = asked or _asked_here()
            reason = asked if isinstance(asked, str) else verdict_of(one, place, asked).reason
            used = not reason and not any(each.used for each in found)
            found.append(_Listed(one, place, reason, used))
    return found


def _asked_here() -> "Asked | str":
    """What a replay on this node asks for, or why there is none."""
    try:
        return asked_of(find_mpi())
    except Error as problem:
        return str(problem)
