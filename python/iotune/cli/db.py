"""The pattern database: what is known of patterns, settings and measurements.

Without --db it is IOTUNE_DB's, else $XDG_DATA_HOME/iotune/patterns.db. What runs left in the
spool is folded in first where the database can be written.
"""

import os
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
    paragraph,
    print_json,
    say,
    table,
)
from iotune.cli.pattern_argument import LARGEST, PatternArgument, pattern_id
from iotune.database.tunings import PATTERN_FIELDS, pattern_json, tuning_json
from iotune.errors import Error, shown
from iotune.locations import waiting_runs_dirs
from iotune.models.settings.candidates import parse_candidate

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

DatabaseOption = Annotated[
    Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def opened(db: Optional[Path], reads: bool = False, own: bool = False) -> core.Database:
    """The database, with the spool folded in where that can be done and the site lets it learn.

    With `reads` also one that its user may not write, as a site's; one that was named is not made.
    With `own` the user's own, of which observations became part, where IOTUNE_DB names a site's.
    """
    named = os.environ.get("IOTUNE_DB", "") if db is None else str(db)
    if db is None and reads and not own:
        db = next((path for path in core.lower_databases() if str(path) == named), None)
    if named == "none":
        raise Error("there is no database: it was named 'none'")
    path = core.default_database() if db is None else db
    is_missing = _is_missing(path)
    read_only = reads and (db is not None if is_missing else not os.access(path, os.W_OK))
    learns = not read_only and not core.site_is_frozen()
    for folder in waiting_runs_dirs() if learns else []:
        try:
            core.learn_from_pending_runs(folder, path if db is None else db.absolute())
        except Error as problem:
            say(f"runs wait to be learnt from: {problem}")
    database = core.Database(None if db is None else str(db.absolute()), read_only)
    if learns:
        try:
            folded = database.ingest()
        except Error as problem:
            say(f"observations stay in the spool: {problem}")
        else:
            for line in (*folded.get("moves", ()), *folded.get("faults", ())):
                say(line)
    return database


def _is_missing(path: Path) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    return False


def settings_text(settings: Mapping[str, str]) -> str:
    """Settings in one line; a dash for the default."""
    return ";".join(f"{name}={settings[name]}" for name in sorted(settings)) or "–"


def gain_text(answer: Mapping[str, Any]) -> str:
    """A gain with its interval: 3.20x (2.80 to 3.90)."""
    if answer.get("gain") is None:
        return "–"
    text = f"{answer['gain']:.2f}x"
    if answer.get("low") is not None and answer.get("high") is not None:
        text += f" ({answer['low']:.2f} to {answer['high']:.2f})"
    return text


_COLUMNS = [
    Column("id", number=True),
    Column("pattern"),
    Column("operation", bare=True),
    Column("mode", spare=2, bare=True),
    Column("ranks", number=True, spare=1),
    Column("seen in", spare=3),
    Column("platform", spare=4),
    Column("state", bare=True),
    Column("settings", bare=True),
    Column("gain"),
]


def _wants_answer(pattern: Mapping[str, Any]) -> bool:
    """Whether the pattern is dominant in a file and has no answer; others follow their file's."""
    return not pattern["answers"] and any(one["speaker"] for one in pattern["workloads"])


def _rows(pattern: Mapping[str, Any]) -> list[list[str]]:
    """A row per platform with an answer; one row where there is none."""
    seen = [f"{one['program']} {one['file']}" for one in pattern["workloads"]]
    start = [
        str(pattern["id"]),
        pattern["descriptor"],
        pattern["op"],
        pattern["mode"],
        str(pattern["ranks"]),
        seen[0] + (f" and {len(seen) - 1} more" if len(seen) > 1 else "") if seen else "–",
    ]
    if not pattern["answers"]:
        return [[*start, "–", "untrained" if _wants_answer(pattern) else "–", "–", "–"]]
    return [
        [
            *start,
            cell_text(answer["platform"]),
            answer["state"],
            settings_text(answer["settings"]),
            gain_text(answer),
        ]
        for answer in pattern["answers"]
    ]


def cell_text(value: Any) -> str:
    """A value in a table; a dash for none."""
    if isinstance(value, Mapping):
        return " ".join(str(one) for one in value.values() if one != "") or "–"
    if isinstance(value, list):
        return "x".join(str(one) for one in value) or "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None or value == "" else str(value)


def _table(patterns: Sequence[Mapping[str, Any]]) -> None:
    table(_COLUMNS, [row for pattern in patterns for row in _rows(pattern)])


@app.command("list")
@errors_in_one_line
def list_patterns(db: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """List every pattern, its state and its best settings."""
    answer = opened(db, reads=True).patterns()
    patterns = answer["patterns"]
    if as_json:
        print_json("db-list", answer)
    elif patterns:
        _table(patterns)
    else:
        say(f"{answer['database']} is empty: no run was observed yet")
    if not patterns:
        next_command("iotune", "run", "--", "mpirun", "-n", "4", "./program")
    elif any(_wants_answer(pattern) for pattern in patterns):
        next_command("iotune", "train")
    else:
        next_command("iotune", "db", "show", str(patterns[0]["id"]))


@app.command()
@errors_in_one_line
def show(
    pattern: PatternArgument,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything known of one pattern: settings, measurements, observations."""
    database = opened(db, reads=True)
    answer = database.show(pattern_id(database, pattern))
    if as_json:
        print_json("db-show", answer)
    else:
        _print_pattern(answer)
    next_command("iotune", "db", "query", answer["descriptor"])


_EVIDENCE = {
    "workloads": ("program", "file", "ranks", "nodes", "dataset", "datasets", "repeats"),
    "history": ("id", "state", "settings_text", "gain", "low", "high", "rounds", "source",
                "platform"),
    "measured": ("settings_text", "runs", "files", "median_seconds", "median_bytes_per_second",
                 "gain", "platform"),
}  # fmt: skip


def _print_pattern(pattern: Mapping[str, Any]) -> None:
    for name, value in pattern.items():
        if name not in (*_EVIDENCE, "answers"):
            paragraph(f"{name:<14}{cell_text(value)}", more=14)
    for name, titles in _EVIDENCE.items():
        if pattern[name]:
            data()
            data(name)
            columns = [Column(title.replace("_", " ").replace(" text", "")) for title in titles]
            rows = [[cell_text(row[title]) for title in titles] for row in pattern[name]]
            table(columns, rows, indent=2)


@app.command()
@errors_in_one_line
def query(
    descriptor: Annotated[
        str,
        typer.Argument(help="A descriptor as `iotune show` prints it: '<2D,(BLOCK,*),(6,24)>'."),
    ],
    element_bytes: Annotated[
        Optional[int],
        typer.Option(
            min=1, max=LARGEST, help="Bytes of an element, because patterns are compared in bytes."
        ),
    ] = None,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for the settings of a pattern and their evidence."""
    answer = opened(db, reads=True).query(descriptor, element_bytes)
    patterns = answer["patterns"]
    if as_json:
        print_json("db-query", answer)
    elif patterns:
        _table(patterns)
    else:
        say(f"nothing is known of {answer['query']}")
    if patterns:
        next_command("iotune", "db", "show", str(patterns[0]["id"]))
    else:
        next_command("iotune", "train", why="after a run that showed the pattern")


@app.command()
@errors_in_one_line
def add(
    pattern: Annotated[
        str, typer.Argument(help="An ID of `iotune db list`; or a descriptor, with the options.")
    ],
    settings: Annotated[
        str, typer.Argument(help="'name=value;name=value'; '' means that the default is best.")
    ],
    element_bytes: Annotated[
        Optional[int],
        typer.Option(min=1, max=LARGEST, help="With a descriptor: bytes of an element."),
    ] = None,
    dims: Annotated[Optional[str], typer.Option(help="The dataset's dimensions: 24x24.")] = None,
    grid: Annotated[Optional[str], typer.Option(help="Ranks per dimension: 4x1.")] = None,
    op: Annotated[str, typer.Option(help="write or read.")] = "write",
    mode: Annotated[str, typer.Option(help="collective or independent.")] = "collective",
    filesystem: Annotated[
        str, typer.Option(help="The platform's file system: ext4, lustre …")
    ] = "",
    mpi: Annotated[str, typer.Option(help="The platform's MPI: 'MPICH 4.0.2'.")] = "",
    hdf5: Annotated[str, typer.Option(help="The platform's HDF5: 1.10.8.")] = "",
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store settings that were found elsewhere, without a measurement.

    For a pattern of the list they hold on every platform on which it was seen; for a descriptor
    on the platform that the options name.
    """
    wanted = _settings(settings)
    database = opened(db)
    if pattern.isascii() and pattern.isdigit():
        if any((element_bytes, dims, grid, filesystem, mpi, hdf5)):
            raise typer.BadParameter(
                "a pattern of the list has its sizes and platforms: only a descriptor takes "
                "--element-bytes, --dims, --grid, --filesystem, --mpi and --hdf5"
            )
        known = database.show(min(int(pattern), LARGEST))
        subject = {name: known[name] for name in PATTERN_FIELDS}
        platforms = platforms_of(known)
    else:
        if element_bytes is None or dims is None or grid is None or not filesystem or not hdf5:
            raise typer.BadParameter(
                "a descriptor needs --element-bytes, --dims, --grid, --filesystem and --hdf5"
            )
        subject = _described(pattern, element_bytes, dims, grid, op, mode)
        # What is not asked is no other name for all: no run would ever be asked for it.
        if subject["ranks"] > 1 and not mpi:
            raise typer.BadParameter("a descriptor of several ranks needs --mpi")
        platforms = [{"filesystem": filesystem, "mpi": mpi, "hdf5": hdf5}]
    rows = [
        database.add_tuning(tuning_json(subject, platform, wanted, source="by hand"))
        for platform in platforms
    ]
    if as_json:
        print_json("db-add", {"rows": rows})
    else:
        say(f"stored {settings_text(wanted)} for {subject['descriptor']}, {_numbers(rows)}")
    next_command("iotune", "db", "query", subject["descriptor"])


def _settings(text: str) -> dict[str, str]:
    try:
        wanted = parse_candidate(text).settings if text.strip() else {}
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    for name, value in wanted.items():
        fault = core.fault_of_setting(name, value)
        if fault:
            raise typer.BadParameter(f"{name}={shown(value)} {fault}")
    return wanted


def _described(
    descriptor: str, element_bytes: int, dims: str, grid: str, op: str, mode: str
) -> dict[str, Any]:
    core.parse_descriptor(descriptor)
    if op not in ("write", "read"):
        raise typer.BadParameter(f"'{op}' is neither write nor read", param_hint="--op")
    try:
        return pattern_json(
            descriptor=descriptor,
            write=op == "write",
            element_bytes=element_bytes,
            dataset_dims=_sizes(dims),
            process_grid=_sizes(grid),
            mode=mode,
        )
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None


def platforms_of(pattern: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The platforms on which a pattern was seen or has an answer. Error where there is none."""
    platforms = {
        cell_text(one["platform"]): one["platform"]
        for one in (*pattern["measured"], *pattern["answers"])
    }
    if not platforms:
        raise Error(f"pattern {pattern['id']} was seen on no platform yet: give its descriptor")
    return list(platforms.values())


def _sizes(text: str) -> list[int]:
    parts = text.lower().split("x")
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"'{shown(text)}' is not sizes joined by x")
    return [int(part) for part in parts]


def _numbers(rows: list[int]) -> str:
    return "row " + ", ".join(str(row) for row in rows)
