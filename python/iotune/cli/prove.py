"""Compare bytes on disk under settings of which nothing is known for this MPI and HDF5.

Files of five seeds are written and read in many ways, in a scratch folder of their own, under one
setting at a time. What passes is stored as proven here: for this file system, MPI and HDF5, each
of this very version. Settings that are known to write wrong bytes are never tried.

  iotune prove --on /scratch/me -n 16
  iotune prove --hdf5 /opt/hdf5/lib/libhdf5.so
  iotune prove --list
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from iotune import core
from iotune.cli.db import opened
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
from iotune.errors import Error
from iotune.proving.prover import LEAST_RANKS, SEEDS, Prover, Setting, settings_to_try, unproven
from iotune.replay.mpi import find_mpi, serial_hdf5
from iotune.replay.replayer import scratch_directory

_COLUMNS = [Column("setting"), Column("values"), Column("verdict"), Column("because")]
_SCRATCH_BYTES = 64 << 20


@errors_in_one_line
def command(
    on: Annotated[
        Optional[Path],
        typer.Option("--on", metavar="DIR", help="A folder of the file system. Default: this one."),
    ] = None,
    ranks: Annotated[
        int,
        typer.Option(
            "--ranks", "-n", min=LEAST_RANKS, help="Number of ranks, over the nodes of the job."
        ),
    ] = LEAST_RANKS,
    hdf5: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="A serial HDF5 to prove: its library, such as that of a wheel."
        ),
    ] = None,
    setting: Annotated[
        Optional[list[str]],
        typer.Option(metavar="NAME", help="Only this one; may be repeated."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--all", help="Compare also what is proven already.")
    ] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print what is proven, and compare nothing.")
    ] = False,
    db: Annotated[
        Optional[Path], typer.Option("--db", metavar="FILE", help="Use this database instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prove."""
    if list_only:
        _print_known(db, as_json)
        return
    wanted = _wanted(setting or [])
    directory = (on or Path.cwd()).absolute()
    if not directory.is_dir():
        raise Error(f"{directory} is no directory; --on names one on the file system to be tried")
    if hdf5 is not None and not hdf5.is_file():
        raise Error(f"{hdf5} is no file; --hdf5 names a library of HDF5")
    database = opened(db)
    mpi = serial_hdf5(str(hdf5.absolute())) if hdf5 is not None else find_mpi()
    with scratch_directory(directory, _SCRATCH_BYTES) as scratch:
        prover = Prover(mpi, ranks, scratch)
        say("comparing without settings first")
        site = prover.settle()
        mpi_name = f"{site.mpi} ({site.mpi_io})" if site.mpi else "no MPI"
        say(f"{mpi_name}, HDF5 {site.hdf5 or 'none'}, {site.filesystem}, "
            f"{count_text(site.ranks, 'rank')} on {count_text(site.nodes, 'node')}")  # fmt: skip
        if prover.no_hdf5:
            say(f"settings of HDF5 are left out: {prover.no_hdf5}")
        path = db or core.default_database()
        todo = list(unproven(prover, wanted, path)) if not again else [
            one for one in wanted if prover.can_try(one) and _is_worth_trying(prover, one)
        ]  # fmt: skip
        proofs = []
        for number, one in enumerate(todo, start=1):
            _progress(f"{number} of {len(todo)}: {one.parameter}, {one.value_class}")
            proof = prover.prove(one)
            database.add_proof(proof)
            proofs.append(proof)
        _progress("")
    if as_json:
        print_json("prove", proofs)
    elif proofs:
        table(_COLUMNS, [
            [one["parameter"], one["value_class"],
             "proven here" if one["passed"] else "wrong here", one["evidence"]]
            for one in proofs
        ])  # fmt: skip
    else:
        say("nothing is unknown here")
    next_command("iotune", "prove", "--list")


def _is_worth_trying(prover: Prover, one: Setting) -> bool:
    """Not what writes wrong bytes, nor what does nothing here."""
    assert prover.site is not None
    question = {**prover.site.question(prover.scratch), "database": "none", "config": ""}
    return core.gate_answer(question, one.parameter, one.value)["known"] in ("proven", "unknown")


def _progress(text: str) -> None:
    """One line that the next one replaces, on a terminal; elsewhere nothing."""
    if sys.stderr.isatty():
        print(
            f"\r\x1b[Kiotune: {text}" if text else "\r\x1b[K", end="", file=sys.stderr, flush=True
        )


def _wanted(names: list[str]) -> list[Setting]:
    every = settings_to_try()
    known = {one.parameter for one in every}
    for name in names:
        if name not in known:
            raise typer.BadParameter(
                f"'{name}' is none of {', '.join(sorted(known))}", param_hint="--setting"
            )
    return [one for one in every if not names or one.parameter in names]


def _print_known(db: Optional[Path], as_json: bool) -> None:
    rows: list[dict[str, Any]] = list(core.known_settings()["rows"])
    path = db or core.default_database()
    proofs = core.Database(path, read_only=True).proofs() if path.is_file() else []
    if as_json:
        print_json("prove-list", {"rows": rows, "proofs": proofs, "seeds": SEEDS})
        return
    table(
        [Column("library"), Column("versions"), *_COLUMNS],
        [
            [
                "any" if row["library"] == "*" else row["library"], _versions(row),
                row["parameter"], "any" if row["value_class"] == "*" else row["value_class"],
                row["known"], row["because"],
            ]
            for row in rows
        ]
        + [
            [
                one["mpi_io"] or "HDF5", one["mpi"] if one["mpi_io"] else one["hdf5"],
                one["parameter"], one["value_class"],
                "proven here" if one["passed"] else "wrong here",
                f"on {one['filesystem']}: {one['evidence']}",
            ]
            for one in proofs
        ],
    )  # fmt: skip
    data("what is not listed is unknown, and refused")
    next_command("iotune", "prove", "--on", "DIR")


def _versions(row: dict[str, Any]) -> str:
    if not row["from"] and not row["to"]:
        return "any"
    if row["from"] == row["to"]:
        return str(row["from"])
    return f"{row['from']} to {row['to']}" if row["from"] else f"up to {row['to']}"
