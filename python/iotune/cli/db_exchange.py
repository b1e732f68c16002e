"""Databases in and out: JSON, H5Tuner's XML, ROMIO's hint files, another site's database."""

import codecs
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune import core
from iotune.cli.db import (
    DatabaseOption,
    JsonOption,
    app,
    opened,
    platforms_of,
    settings_text,
)
from iotune.cli.output import (
    count_text,
    document,
    errors_in_one_line,
    next_command,
    print_json,
    say,
)
from iotune.cli.pattern_argument import LARGEST
from iotune.database.anonymise import anonymised
from iotune.database.hint_file import hint_text, read_hints
from iotune.database.tunings import PATTERN_FIELDS, tuning_json
from iotune.errors import Error
from iotune.output_file import demand_replaceable, write_text

FormatOption = Annotated[
    Optional[str],
    typer.Option("--format", help="json, xml (H5Tuner's) or hints (ROMIO's)."),
]
_FORMATS = ("json", "xml", "hints")


def _demand_format(name: str) -> None:
    if name not in _FORMATS:
        raise typer.BadParameter(f"'{name}' is none of json, xml, hints", param_hint="--format")


def _guessed(file: Path, content: bytes) -> str:
    start = content.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    if file.suffix == ".xml" or start == b"<":
        return "xml"
    return "json" if file.suffix == ".json" or start == b"{" else "hints"


def _decoded(file: Path, content: bytes) -> str:
    if content.startswith(b"SQLite format 3\0"):
        raise Error(f"{file}: a database, no document: iotune db merge takes it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Error(f"{file}: not UTF-8 (byte {problem.start + 1})") from None


@app.command("import")
@errors_in_one_line
def import_file(
    file: Annotated[
        Path, typer.Argument(help="A file of `iotune db export`, XML or hints; - is stdin.")
    ],
    form: FormatOption = None,
    pattern: Annotated[
        Optional[int],
        typer.Option(
            metavar="ID",
            min=1,
            max=LARGEST,
            help="With XML or hints: the pattern that they are for.",
        ),
    ] = None,
    data_file: Annotated[
        str, typer.Option(metavar="NAME", help="With XML: take its settings for this file.")
    ] = "",
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add another database's export, all or nothing; or settings out of XML or a hint file.

    XML and hints say nothing of patterns: --pattern names one of the list, and the settings hold
    on every platform on which it was seen.
    """
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as problem:
        raise Error(f"{file}: {problem.strerror}") from None
    if form is not None:
        _demand_format(form)
    form = form or _guessed(file, content)
    # XML says its encoding itself, and is read by the parser that jobs use.
    text = "" if form == "xml" else _decoded(file, content)
    if form == "json":
        answer = opened(db).import_json(text, str(file))
    else:
        answer = _import_settings(file, text, form, pattern, data_file, db)
    if as_json:
        print_json("db-import", answer)
    else:
        say(f"imported {file}: {counts_text(answer)}")
    next_command("iotune", "db", "list")


def _import_settings(
    file: Path, text: str, form: str, pattern: Optional[int], data_file: str, db: Optional[Path]
) -> dict[str, Any]:
    if pattern is None:
        raise typer.BadParameter(f"{form} needs --pattern, an ID of `iotune db list`")
    if form == "xml":
        if str(file) == "-":
            raise typer.BadParameter("XML is read from a file, not from stdin")
        read = core.read_config_xml(str(file.absolute()), data_file)
        settings, left_out = read["settings"], read["notes"]
    else:
        settings, left_out = read_hints(text, str(file))
    for note in left_out:
        say(f"{file}: {note} is left out")
    if not settings:
        raise Error(f"{file}: no setting in it")
    database = opened(db)
    known = database.show(pattern)
    subject = {name: known[name] for name in PATTERN_FIELDS}
    rows = [
        database.add_tuning(tuning_json(subject, platform, settings, source="import"))
        for platform in platforms_of(known)
    ]
    return {"tunings": len(rows), "settings": settings_text(settings)}


@app.command()
@errors_in_one_line
def export(
    output: Annotated[
        Optional[Path],
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE. Default: stdout."),
    ] = None,
    form: FormatOption = None,
    pattern: Annotated[
        Optional[int],
        typer.Option(
            metavar="ID",
            min=1,
            max=LARGEST,
            help="With XML or hints: export this pattern's settings.",
        ),
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="With JSON: write hashes instead of names.")
    ] = False,
    salt_file: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="A file with the salt of the hashes, so that later exports match."
        ),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Write the whole database as JSON, or one pattern's settings as XML or ROMIO hints.

    With --anonymise names of programs, files, datasets and runs become salted hashes, times days,
    and models stay here. The salt is drawn anew and forgotten, unless --salt-file gives one.
    """
    form = form or "json"
    _demand_format(form)
    if anonymise and form != "json":
        raise typer.BadParameter(f"{form} holds settings alone: --anonymise is of JSON")
    if output is not None and str(output) != "-":
        demand_replaceable(output)
    database = opened(db, reads=True)
    if form == "json":
        text = database.export_json()
        if anonymise:
            text = anonymised(text, _salt(salt_file))
    else:
        text = _settings_document(database, form, pattern)
    if output is None or str(output) == "-":
        document(text.rstrip("\n"))
    else:
        write_text(output, text.rstrip("\n") + "\n")
    if form == "json":
        next_command("iotune", "db", "import", str(output or "FILE"), why="on another machine")
    else:
        next_command("iotune", "db", "list")


def _salt(file: Optional[Path]) -> bytes:
    if file is None:
        return secrets.token_bytes(32)
    try:
        salt = file.read_bytes()
    except OSError as problem:
        raise Error(f"{file}: {problem.strerror}") from None
    if len(salt) < 16:
        raise Error(f"{file}: a salt needs 16 bytes or more, or names can be guessed")
    return salt


def _settings_document(database: core.Database, form: str, pattern: Optional[int]) -> str:
    if pattern is None:
        raise typer.BadParameter(f"{form} needs --pattern, an ID of `iotune db list`")
    answers = database.show(pattern)["answers"]
    tuned = {settings_text(one["settings"]): one for one in answers if one["state"] == "tuned"}
    if not tuned:
        raise Error(f"pattern {pattern} has no settings that hold")
    if len(tuned) > 1:
        raise Error(f"pattern {pattern} has other settings on other platforms: use JSON")
    settings = next(iter(tuned.values()))["settings"]
    if form == "xml":
        return core.config_xml(settings)
    text, left_out = hint_text(settings)
    for name in left_out:
        say(f"{name} is no hint of MPI-IO and left out")
    if not text:
        raise Error(f"no setting of pattern {pattern} is a hint of MPI-IO")
    return text


@app.command()
@errors_in_one_line
def merge(
    other: Annotated[Path, typer.Argument(help="Another database file; it is only read.")],
    filesystem: Annotated[
        str, typer.Option(help="Only answers for this file system: lustre …")
    ] = "",
    mpi: Annotated[str, typer.Option(help="Only answers for this MPI: 'MPICH 4.0.2'.")] = "",
    hdf5: Annotated[str, typer.Option(help="Only answers for this HDF5: 1.10.8.")] = "",
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add what another site's database knows, by platform.

    Nothing is doubled, so a second merge adds nothing. Where both have an answer the newest one
    holds; settings that runs here have taken back stay so.
    """
    platform = {"filesystem": filesystem, "mpi": mpi, "hdf5": hdf5}
    answer = opened(db).merge(
        str(other.absolute()), {name: value for name, value in platform.items() if value}
    )
    if as_json:
        print_json("db-merge", answer)
    else:
        say(f"merged {other}: {counts_text(answer)}")
    next_command("iotune", "db", "list")


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
    if spool is not None and not os.path.isdir(spool):
        raise Error(f"{spool}: no such directory")
    database = core.Database(None if db is None else str(db.absolute()))
    answer = database.ingest(None if spool is None else str(spool.absolute()))
    if as_json:
        print_json("db-ingest", answer)
    else:
        say(f"ingested: {counts_text(answer)}")
        for line in [*answer["moves"], *answer["faults"]]:
            say(line)
    next_command("iotune", "db", "list")


@app.command()
@errors_in_one_line
def compact(db: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Keep the newest observations of each kind as rows, add up the others, shrink the file."""
    if db is not None and not db.exists():
        raise Error(f"{db}: no pattern database there")
    answer = opened(db).compact()
    if as_json:
        print_json("db-compact", answer)
    else:
        say(
            f"{answer['database']}: {answer['bytes_before']} bytes are {answer['bytes_after']}; "
            f"{count_text(answer['observations_added_up'], 'observation')} became sums"
        )
    next_command("iotune", "db", "ledger")


def counts_text(answer: Any) -> str:
    """Counts in one line: 3 files, 3 observations."""
    if not isinstance(answer, Mapping):
        return str(answer)
    return ", ".join(
        f"{value} {name.replace('_', ' ')}"
        for name, value in answer.items()
        if isinstance(value, (int, str))
    )
