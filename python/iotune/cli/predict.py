"""What settings are worth for a pattern that was never run, by a model of this platform.

The model was fitted to patterns that were measured on the same file system with the same
libraries (iotune train --survey, iotune train). Outside of the range of these it counts what the
settings make the storage do, and is less sure.

  iotune predict '<2D,(*,BLOCK),(16384,64)>' --ranks 4 --collective --on /scratch/me
  iotune predict '<1D,BLOCK,8388608>' --ranks 64 --element-bytes 4 --read
"""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune import core
from iotune.cli.db import settings_text
from iotune.cli.output import (
    Column,
    count_text,
    data,
    errors_in_one_line,
    next_command,
    print_json,
    say,
    table,
)
from iotune.errors import Error, shown

_COLUMNS = [Column("settings"), Column("gain", True), Column("interval")]


@errors_in_one_line
def command(
    descriptor: Annotated[
        str, typer.Argument(metavar="DESCRIPTOR", help="The pattern: '<1D,(BLOCK),(6)>'.")
    ],
    ranks: Annotated[int, typer.Option(min=1, help="Number of ranks.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="Number of nodes.")] = 1,
    on: Annotated[
        Optional[Path],
        typer.Option("--on", metavar="DIR", help="A directory on the file system. Default: here."),
    ] = None,
    read: Annotated[
        bool, typer.Option("--read", help="The pattern reads. Default: it writes.")
    ] = False,
    collective: Annotated[
        bool, typer.Option("--collective", help="The calls are collective. Default: independent.")
    ] = False,
    element_bytes: Annotated[int, typer.Option(min=1, help="Bytes of an element.")] = 8,
    datasets: Annotated[int, typer.Option(min=1, help="Datasets of this pattern in a file.")] = 1,
    grid: Annotated[
        Optional[str], typer.Option(metavar="AxB", help="Ranks in each dimension.")
    ] = None,
    dims: Annotated[
        Optional[str], typer.Option(metavar="AxB", help="The dataset's dimensions, in elements.")
    ] = None,
    chunk: Annotated[
        Optional[str],
        typer.Option(
            metavar="AxB", help="The chunk's dimensions, in elements. Default: not chunked."
        ),
    ] = None,
    mpi: Annotated[
        Optional[str],
        typer.Option(metavar="NAME", help="The MPI, as 'MPICH 4.0.2'. Default: any known."),
    ] = None,
    hdf5: Annotated[
        Optional[str],
        typer.Option(metavar="VERSION", help="The HDF5, as 1.10.8. Default: any known."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Print this many settings.")] = 5,
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict."""
    try:
        from iotune.models.gains import ask
        from iotune.models.gains.rows import settings_of
        from iotune.models.gains.stored_model import newest_model
        from iotune.models.survey.stored import of_database
    except ImportError as problem:
        raise Error(f"predictions need more ({problem}): pip install 'iotune[models]'") from None
    try:
        text = str(core.parse_descriptor(descriptor)["text"])
    except Error as problem:
        raise Error(f"{shown(descriptor)} is no descriptor: {problem}") from None
    pattern = ask.pattern_of(
        text, ranks, not read, element_bytes, collective,
        _numbers(grid, "--grid"), _numbers(dims, "--dims"), _numbers(chunk, "--chunk"),
    )  # fmt: skip
    directory = (on or Path.cwd()).absolute()
    if not directory.is_dir():
        raise Error(f"{directory} is no directory; --on names one on the file system")
    databases = _databases(db)
    platform = _platform(databases, core.filesystem_of(directory), mpi, hdf5)
    model = newest_model(databases, platform)
    assert model is not None
    surfaces = [one for each in databases for one in of_database(each, platform)]
    question = {"nodes": nodes, "datasets": datasets, "repeats": 1}
    if platform["filesystem"] in ("cephfs", "lustre"):
        question["striped"] = 1
    found = ask.predictions(model, pattern, question)
    outside = ask.outside_of(model, pattern, question, surfaces)
    near = ask.neighbours(pattern, question, surfaces)
    sure = [one for one in found if one.sure > 1]
    if as_json:
        print_json("predict", {
            "pattern": pattern, "platform": platform, "patterns": model.patterns,
            "settings": [vars(one) for one in found[:top]],
            "applied": vars(sure[0]) if sure else None, "outside": outside,
            "nearest": [vars(one) for one in near],
        })  # fmt: skip
        return
    where = f"{platform['filesystem']}, {platform['mpi']}, HDF5 {platform['hdf5']}"
    data(f"{text}, {'read' if read else 'write'}, {count_text(ranks, 'rank')}: {where}")
    table(_COLUMNS, [
        [one.settings.replace(";", " "), f"{one.gain:.2f}", f"{one.low:.2f} to {one.high:.2f}"]
        for one in found[:top]
    ])  # fmt: skip
    if sure:
        data(
            f"A run without a measured answer gets {settings_text(settings_of(sure[0].settings))}: "
            f"expected {sure[0].gain:.2f}, surely above {sure[0].sure:.2f}."
        )
    else:
        data(
            "None is surely above 1, chosen among so many: a run is left at the default until it "
            "is trained, and a training begins with the first."
        )
    if outside:
        data(f"{outside}: by what the settings make the storage do alone, and less sure.")
    say(f"from {count_text(model.patterns, 'measured pattern')}; the nearest:")
    for one in near:
        say(f"  {one.pattern['descriptor']}, {one.pattern['op']}, {one.pattern['ranks']} ranks: "
            f"{one.best_gain:.2f} with {one.best or 'the default'}")  # fmt: skip
    next_command("iotune", "train", why="measures it, once the program has run")


def _numbers(text: Optional[str], option: str) -> list[int]:
    if not text:
        return []
    try:
        found = [int(part) for part in text.lower().split("x")]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise typer.BadParameter(f"'{text}' is not of the form 4x2", param_hint=option)
    return found


def _databases(db: Optional[Path]) -> list[core.Database]:
    """The user's own, then the site's; those that are there."""
    paths = [db if db is not None else core.default_database()]
    if db is None:
        paths += core.lower_databases()
    if db is not None and not db.exists():
        raise Error(f"{db}: no such file")
    return [core.Database(path, read_only=True) for path in paths if path.exists()]


def _platform(
    databases: list[core.Database], filesystem: str, mpi: Optional[str], hdf5: Optional[str]
) -> dict[str, str]:
    """Of the newest model on the file system, with those libraries. Raises Error without one."""
    from iotune.models.gains.stored_model import models_of

    known: list[dict[str, Any]] = [one for each in databases for one in models_of(each)]
    fitting = [
        one
        for one in known
        if one["platform"]["filesystem"] == filesystem
        and (mpi is None or one["platform"]["mpi"] == mpi)
        and (hdf5 is None or one["platform"]["hdf5"] == hdf5)
    ]
    if not fitting:
        others = sorted({
            f"{one['platform']['filesystem']}, {one['platform']['mpi']}, "
            f"HDF5 {one['platform']['hdf5']}" for one in known
        })  # fmt: skip
        there = f"; there are models of {' and of '.join(others)}" if others else ""
        asked = ", ".join(one for one in (filesystem, mpi, hdf5 and f"HDF5 {hdf5}") if one)
        raise Error(f"no model of {asked}{there}: iotune train --survey measures and fits one")
    newest = max(fitting, key=lambda one: float(one["made_at"]))
    return {name: str(value) for name, value in newest["platform"].items()}
