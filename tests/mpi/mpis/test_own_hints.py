"""Hints that one MPI-IO or one file system reads alone, or that are right under conditions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from support.answers import answer, make_database
from support.mpis import compiled, find_mpi, use
from support.place import Place, main, not_verified
from support.settings import outcomes

RANKS = 2
CALLS = "cdi"


def config(place: Place, **settings: str) -> Path:
    """Settings that are tried though nothing is proven of them."""
    leaves = "".join(f"<{name}>{value}</{name}>" for name, value in settings.items())
    path = place.scratch / "config.xml"
    path.write_text(
        "<Parameters iotune_force='yes'><Parallel_File_System>"
        f"{leaves}</Parallel_File_System></Parameters>"
    )
    return path


class Run:
    """Of late_calls, and what it left: everywhere the same bytes."""

    def __init__(
        self, place: Place, program: Path, name: str = "", calls: str = CALLS, ranks: int = RANKS,
        **env: Any,
    ) -> None:  # fmt: skip
        """`name`: of the file as the program has it; "": the whole path."""
        place.trace.unlink(missing_ok=True)
        (place.scratch / "elsewhere").mkdir(exist_ok=True)
        file = place.scratch / "a.bin"
        file.unlink(missing_ok=True)
        done = place.mpi(ranks, program, name or file, calls,
                         IOTUNE_TRACE=place.trace, IOTUNE_DB="none", **env)  # fmt: skip
        place.right(done, f"{name or file} {calls}")
        self.contents = file.read_bytes()
        self.elsewhere = sorted(one.name for one in (place.scratch / "elsewhere").iterdir())
        self.calls = place.calls() if place.trace.exists() else []
        self.outcomes = outcomes(self.calls)


def expected(calls: str = CALLS, count: int = RANKS) -> bytes:
    ranks = range(count)
    together = b"".join(bytes([97 + rank]) * 100 for rank in ranks) if "c" in calls else b""
    if "i" not in calls:
        return together
    return together.ljust(4096, b"\0") + b"".join(bytes([97 + rank]) * 50 for rank in ranks)


def built(place: Place, name: str, mpi_io: str = "") -> Path | None:
    mpi = find_mpi(name)
    if mpi is None:
        return None
    use(place, mpi)
    if mpi_io:
        os.environ["OMPI_MCA_io"] = mpi_io
    return compiled(place, mpi, "late_calls.c")


def no_independent(place: Place, name: str) -> None:
    """Only aggregators open the file; the others do at their first independent call, rightly."""
    program = built(place, name)
    if program is None:
        return
    reported = config(place, romio_no_indep_rw="true")
    run = Run(place, program, IOTUNE_CONFIG=reported)
    assert run.outcomes["romio_no_indep_rw"][:2] == ("applied", "true"), run.outcomes
    assert run.contents == expected() and run.elsewhere == [], run.elsewhere
    # Bare, and set so by the program's user, it is another file for a rank that opens it late.
    hints = place.scratch / "hints"
    hints.write_text("romio_no_indep_rw true\n")
    lost = Run(place, program, "a.bin", preload=False, ROMIO_HINTS=hints)
    assert lost.contents != expected(), "this ROMIO opens it on all ranks: the gate is idle"
    for file in ("a.bin", "ufs:a.bin", "./a.bin"):
        (place.scratch / "elsewhere" / "a.bin").unlink(missing_ok=True)
        run = Run(place, program, file, IOTUNE_CONFIG=reported)
        verdict, got, reason = run.outcomes["romio_no_indep_rw"]
        assert (verdict, got) == ("refused", "false") and "whole path" in reason, run.outcomes
        assert run.contents == expected() and run.elsewhere == [], (file, run.elsewhere)


def overridden(place: Place) -> None:
    """It would set the user's own romio_cb_write."""
    program = built(place, "mpich-4")
    assert program is not None
    hints = place.scratch / "hints"
    hints.write_text("romio_cb_write automatic\n")
    run = Run(place, program, IOTUNE_CONFIG=config(place, romio_no_indep_rw="true"),
              ROMIO_HINTS=hints)  # fmt: skip
    assert run.outcomes["romio_no_indep_rw"][0] == "refused", run.outcomes
    assert run.contents == expected()


def realms(place: Place, name: str) -> None:
    """With romio_cb_pfr this program crashes, forced or not; what goes with it is not set alone."""
    program = built(place, name)
    if program is None:
        return
    hints = place.scratch / "hints"
    hints.write_text("romio_cb_pfr enable\n")
    bare = place.mpi(RANKS, program, place.scratch / "b.bin", "i", preload=False, ROMIO_HINTS=hints)
    assert bare.status != 0, "this ROMIO is whole: prove it, and mend the table"
    for settings in (
        {"romio_cb_pfr": "enable"}, {"romio_cb_pfr": "automatic"}, {"romio_cb_alltoall": "enable"},
        {"romio_cb_ds_threshold": "50"},
    ):  # fmt: skip
        run = Run(place, program, calls="i", IOTUNE_CONFIG=config(place, **settings))
        assert run.outcomes == {} or {one[0] for one in run.outcomes.values()} == {"refused"}
        assert run.contents == expected("i")


def lustre(place: Place) -> None:
    """Refused where the file is not on Lustre; where it is, passed, and read back."""
    program = built(place, "mpich-4")
    assert program is not None
    reported = config(
        place, romio_lustre_co_ratio="2", romio_lustre_ds_in_coll="disable",
        cray_cb_nodes_multiplier="2",
    )  # fmt: skip
    run = Run(place, program, IOTUNE_CONFIG=reported)
    for name, (verdict, _, reason) in run.outcomes.items():
        assert verdict == "refused" and "Lustre" in reason, (name, reason)
    assert len(run.outcomes) == 3 and run.contents == expected()
    fake = place.build / "lib" / "libfake_storage.so"
    store = place.scratch / "store"
    store.mkdir()
    run = Run(place, program, IOTUNE_CONFIG=reported, preload=[place.library, fake],
              FAKE_STORAGE="lustre", FAKE_ROOT=place.scratch, FAKE_STORE=store)  # fmt: skip
    # This MPI has no driver of Lustre's, and Cray's hints are not its own.
    for name, (verdict, got, _) in run.outcomes.items():
        assert (verdict, got) == ("without effect", ""), (name, run.outcomes)
    assert len(run.outcomes) == 3 and run.contents == expected()


def ompio(place: Place, name: str, right_way_round: bool) -> None:
    """What OMPIO makes of collective_buffering=false is seen by who writes; where it reads it the
    other way round, nothing is set.
    """
    program = built(place, name, "ompio")
    if program is None:
        return
    ranks = 4  # of two, both write by default
    default = Run(place, program, calls="c", ranks=ranks)
    reported = config(place, collective_buffering="false")
    run = Run(place, program, calls="c", ranks=ranks, IOTUNE_CONFIG=reported)
    assert run.contents == default.contents == expected("c", ranks)
    writes = [
        sum(one["name"].startswith("pwrite") for one in each.calls) for each in (default, run)
    ]
    assert writes == ([1, ranks] if right_way_round else [1, 1]), (writes, run.outcomes)
    if right_way_round:
        # Version 5 returns what it was given.
        assert run.outcomes["collective_buffering"][0] == "unverifiable", run.outcomes
    else:
        assert {one[0] for one in run.outcomes.values()} <= {"refused"}, run.outcomes


def foreign(place: Place) -> None:
    """Programs that nobody here wrote, with an answer of the database: applied, and equal bytes."""
    database = place.data / "iotune" / "patterns.db"
    for name in ("ph5example", "coll_test", "split_coll"):
        hdf5 = name == "ph5example"
        program = place.bin / (f"foreign_{name}" if hdf5 else f"romio_{name}")
        if not program.exists():
            not_verified(f"{name}: no companions (tools/setup.sh companions)")
            continue
        database.unlink(missing_ok=True)
        make_database(database)
        folder = place.scratch / name
        folder.mkdir()
        words = ("-c", "-f", folder) if hdf5 else ("-fname", folder / "a.bin")

        def written(
            folder: Path = folder, words: tuple[object, ...] = words,
            program: Path = program, **env: Any,
        ) -> dict[str, str]:  # fmt: skip
            for one in folder.iterdir():
                one.unlink()
            place.trace.unlink(missing_ok=True)
            done = place.right(place.mpi(RANKS, program, *words, **env), program.name)
            assert b"rror" not in done.out.replace(b"no errors", b"").replace(b"No Errors", b"")
            return {one.name: contents(one) for one in folder.iterdir()}

        bare = written(preload=False)
        assert bare, "it leaves no file: this proves nothing"
        written()
        assert written() == bare
        assert answer(database, "romio_no_indep_rw=true") >= 1
        assert written() == bare
        reported = outcomes(place.calls())
        assert reported["romio_no_indep_rw"][:2] == ("applied", "true"), (name, reported)


def contents(file: Path) -> str:
    """Of an HDF5 file without its times."""
    if file.suffix != ".h5":
        return file.read_bytes().hex()
    dumped = subprocess.run(["h5dump", file.name], cwd=file.parent, capture_output=True, text=True,
                            check=True)  # fmt: skip
    return dumped.stdout


if __name__ == "__main__":
    main(
        {
            "no-independent-mpich-4": lambda place: no_independent(place, "mpich-4"),
            "no-independent-mpich-5": lambda place: no_independent(place, "mpich-5"),
            "overridden": overridden,
            "realms-mpich-4": lambda place: realms(place, "mpich-4"),
            "realms-mpich-5": lambda place: realms(place, "mpich-5"),
            "lustre": lustre,
            "foreign": foreign,
            "ompio-openmpi-4": lambda place: ompio(place, "openmpi-4", False),
            "ompio-openmpi-5": lambda place: ompio(place, "openmpi-5", True),
        }
    )
