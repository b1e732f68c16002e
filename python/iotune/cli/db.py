"""The pattern database: what is known of patterns, settings and measurements.

Without --db it is IOTUNE_DB's, else $XDG_DATA_HOME/iotune/patterns.db. What runs left in the
spool is folded in first where the database can be written.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune import core
from iotune.cli.output import (
    Column,
    data,
    errors_in_one_line,
    next_command,
    print_json,
    say,
    table,
)
from iotune.errors import Error

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

DatabaseOption = Annotated[
    Optional[Path], typer.Option("--db", metavar="FILE", help="Another database.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs.")]


def opened(db: Optional[Path], read_only: bool = False) -> core.Database:
    """The database, with the spool folded in where that can be done."""
    path = None if db is None else str(db.absolute())
    database = core.Database(path, read_only)
    if not read_only:
        try:
            database.ingest()
        except Error as problem:
            say(f"observations stay in the spool: {problem}")
    return database


def settings_text(settings: object) -> str:
    """Settings in one line, whichever way they come; a dash for the default."""
    if isinstance(settings, Mapping):
        return ";".join(f"{name}={settings[name]}" for name in sorted(settings)) or "–"
    return str(settings or "") or "–"


def gain_text(row: Mapping[str, Any]) -> str:
    """A gain with its interval: 3.2x (2.8 to 3.9)."""
    if row.get("gain") is None:
        return "–"
    text = f"{float(row['gain']):.2f}x"
    if row.get("low") is not None and row.get("high") is not None:
        text += f" ({float(row['low']):.2f} to {float(row['high']):.2f})"
    return text


def _rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of an answer, whether it is a list or an object that holds one."""
    if isinstance(answer, Mapping):
        for value in answer.values():
            if isinstance(value, list):
                return [dict(row) for row in value]
        return []
    return [dict(row) for row in answer]


_PATTERN_COLUMNS = [
    Column("id", number=True),
    Column("pattern"),
    Column("operation"),
    Column("mode"),
    Column("ranks", number=True),
    Column("state"),
    Column("settings"),
    Column("gain"),
    Column("observations", number=True),
]


def _pattern_row(row: Mapping[str, Any]) -> list[str]:
    return [
        str(row.get("id", "")),
        str(row.get("descriptor", "")),
        str(row.get("op", "")),
        str(row.get("mode", "")),
        str(row.get("ranks", "")),
        str(row.get("state", "untrained")),
        settings_text(row.get("settings")),
        gain_text(row),
        str(row.get("observations", 0)),
    ]


@app.command("list")
@errors_in_one_line
def list_patterns(db: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """List every pattern, its state and its best settings."""
    answer = opened(db).list()
    rows = _rows(answer)
    if as_json:
        print_json(answer)
    elif rows:
        table(_PATTERN_COLUMNS, [_pattern_row(row) for row in rows])
    else:
        say("the database is empty: no run was observed yet")
    if not rows:
        next_command("iotune", "run", "--", "mpirun", "-n", "4", "./program")
    elif any(row.get("state", "untrained") == "untrained" for row in rows):
        next_command("iotune", "train")
    else:
        next_command("iotune", "db", "show", str(rows[0].get("id", 1)))


@app.command()
@errors_in_one_line
def show(
    pattern: Annotated[int, typer.Argument(metavar="ID", help="From `iotune db list`.")],
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything known of one pattern: settings, measurements, observations."""
    answer = opened(db).show(pattern)
    if as_json:
        print_json(answer)
    else:
        _print_nested(answer, 0)
    next_command("iotune", "db", "export")


def _print_nested(value: Any, depth: int) -> None:
    """An object as indented lines; lists of objects as tables."""
    indent = "  " * depth
    for name, item in value.items():
        if isinstance(item, Mapping):
            data(f"{indent}{name}")
            _print_nested(item, depth + 1)
        elif isinstance(item, Sequence) and item and isinstance(item[0], Mapping):
            data(f"{indent}{name}")
            titles = [key for key, cell in item[0].items() if not isinstance(cell, Mapping)]
            table(
                [Column(title) for title in titles],
                [[_cell(row.get(title)) for title in titles] for row in item],
                indent=2 * (depth + 1),
            )
        else:
            data(f"{indent}{name}: {_cell(item)}")


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return "x".join(str(one) for one in value)
    return str(value)


@app.command()
@errors_in_one_line
def query(
    descriptor: Annotated[
        str, typer.Argument(help="As `iotune show` prints it: '<2D,(BLOCK,*),(6,24)>'.")
    ],
    element_bytes: Annotated[
        Optional[int], typer.Option(min=1, help="Bytes of an element: patterns compare in bytes.")
    ] = None,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for the settings of a pattern and their evidence."""
    core.parse_descriptor(descriptor)
    answer = opened(db).query(descriptor, element_bytes)
    rows = _rows(answer)
    if as_json:
        print_json(answer)
    elif rows:
        columns = [*_PATTERN_COLUMNS[:-1], Column("rounds", number=True), Column("distance", True)]
        table(
            columns,
            [
                [
                    *_pattern_row(row)[:-1],
                    str(row.get("rounds", "–")),
                    f"{float(row.get('distance', 0)):.3g}",
                ]
                for row in rows
            ],
        )
    else:
        say(f"nothing is known of {descriptor}")
    if rows:
        next_command("iotune", "db", "show", str(rows[0].get("id", 1)))
    else:
        next_command("iotune", "train", why="after a run that showed the pattern")


@app.command()
@errors_in_one_line
def add(
    descriptor: Annotated[str, typer.Argument(help="The pattern, as `iotune show` prints it.")],
    settings: Annotated[
        str, typer.Argument(help="'name=value;name=value'; '' for default-is-best.")
    ],
    element_bytes: Annotated[int, typer.Option(min=1, help="Bytes of an element.")],
    dims: Annotated[str, typer.Option(help="The dataset's dimensions: 24x24.")],
    grid: Annotated[str, typer.Option(help="Ranks per dimension: 4x1.")],
    op: Annotated[str, typer.Option(help="write or read.")] = "write",
    mode: Annotated[str, typer.Option(help="collective or independent.")] = "collective",
    filesystem: Annotated[str, typer.Option(help="Of the platform: ext4, lustre …")] = "",
    mpi: Annotated[str, typer.Option(help="Of the platform: 'MPICH 4.0.2'.")] = "",
    hdf5: Annotated[str, typer.Option(help="Of the platform: 1.10.8.")] = "",
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store settings for a pattern that were found elsewhere, without a measurement."""
    from iotune.models.candidates import parse_candidate
    from iotune.tunings import pattern_json, tuning_json

    core.parse_descriptor(descriptor)
    try:
        wanted = parse_candidate(settings).settings if settings.strip() else {}
        pattern = pattern_json(
            descriptor=descriptor,
            write=op == "write",
            element_bytes=element_bytes,
            dataset_dims=_sizes(dims),
            process_grid=_sizes(grid),
            mode=mode,
        )
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    platform = {"filesystem": filesystem, "mpi": mpi, "hdf5": hdf5}
    answer = opened(db).add_tuning(tuning_json(pattern, platform, wanted, source="by hand"))
    if as_json:
        print_json(answer)
    else:
        say(f"stored {settings_text(wanted)} for {descriptor}")
    next_command("iotune", "db", "query", descriptor)


def _sizes(text: str) -> list[int]:
    sizes = [int(part) for part in text.lower().split("x")]
    if any(size < 1 for size in sizes):
        raise ValueError(f"'{text}' is not sizes joined by x")
    return sizes


@app.command("import")
@errors_in_one_line
def import_file(
    file: Annotated[Path, typer.Argument(help="What `iotune db export` wrote; - for stdin.")],
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge another database's export into this one."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise Error(f"{file}: {problem}") from None
    answer = opened(db).import_json(text)
    if as_json:
        print_json(answer)
    else:
        say(f"merged {file}: {_counts(answer)}")
    next_command("iotune", "db", "list")


@app.command()
@errors_in_one_line
def export(
    output: Annotated[
        Optional[Path], typer.Option("-o", "--output", metavar="FILE", help="Instead of stdout.")
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Write the whole database as JSON."""
    text = opened(db).export_json()
    if output is None:
        data(text)
    else:
        try:
            output.write_text(text + "\n")
        except OSError as problem:
            raise Error(f"{output}: {problem.strerror}") from None
    next_command("iotune", "db", "import", str(output or "FILE"), why="on another machine")


@app.command()
@errors_in_one_line
def ingest(
    spool: Annotated[
        Optional[Path], typer.Argument(metavar="DIR", help="Default: the user's own spool.")
    ] = None,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fold in what runs observed, each observation exactly once."""
    database = core.Database(None if db is None else str(db.absolute()))
    answer = database.ingest(None if spool is None else str(spool.absolute()))
    if as_json:
        print_json(answer)
    else:
        say(f"ingested: {_counts(answer)}")
    next_command("iotune", "db", "list")


def _counts(answer: Any) -> str:
    if not isinstance(answer, Mapping):
        return str(answer)
    return ", ".join(
        f"{value} {name}" for name, value in answer.items() if isinstance(value, (int, str))
    )
