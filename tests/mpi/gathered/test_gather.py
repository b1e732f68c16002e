"""IOTUNE_GATHER: small independent writes wait, and the file has every byte that it has without."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.mpis import compiled, find_mpi, hdf5_flags, use
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.small_disk import small_disk

RANKS, PIECES = 2, 500
SEEDS = range(1, 13)
# Where nothing is held, or not joined; and where everything goes out in a few calls.
ONE_BY_ONE = ("holes", "unique", "deleted", "self", "atomic")
PIECE_BY_PIECE = """<Parameters><Middleware_Layer>
<romio_cb_write>disable</romio_cb_write><romio_ds_write>disable</romio_ds_write>
</Middleware_Layer></Parameters>
"""
# Of gathered_views.c: those whose bytes fill ranges, and the most calls that write all of them.
VIEWS = {"view": 20, "subarray": 20, "islands": 130, "large": 30, "permuted": 20, "reads": 20,
         "holes": None, "sieved": None, "null-type": None, "unsieved": None}  # fmt: skip
# On the local file system that tests run on.
LONE = "in pieces larger than 64 KiB, or in one larger than 1 KiB on a local file system"
WAYS = ("plain", "write-only", "finalize", "abort", "exit", *ONE_BY_ONE)


def gathered(place: Place, *command: object, mode: str = "memory", **how: object) -> Done:
    how.setdefault("IOTUNE_DB", "none")
    return place.mpi(RANKS, *command, IOTUNE_GATHER=mode, **how)


def alike(way: str, one: Done, other: Done) -> bool:
    """The same status and output; the launcher may mix what ranks print within a line.

    Of ranks that exit without MPI_Finalize the launcher says whom it had to kill: that is a race.
    """
    same = one.status == other.status and sorted(one.out) == sorted(other.out)
    return same or way == "exit"


def writes_of(place: Place) -> int:
    """Calls of the last run that wrote to a file, of POSIX."""
    return sum(call["name"] in ("write", "pwrite", "pwritev", "writev") for call in place.calls())


def reads_of(place: Place, file: Path) -> int:
    """Calls of the last run that read `file`, of POSIX."""
    return sum(call["name"] in ("read", "pread") and call.get("file") == str(file)
               for call in place.calls())  # fmt: skip


def notes_of(place: Place) -> list[dict[str, Any]]:
    return [dict(one["arguments"]) for one in place.calls() if one["name"] == "iotune_gather"]


def log_beside(file: Path) -> Path:
    return file.with_name(f".{file.name}.iotune")


def killed(place: Place) -> None:
    """A killed run's log has what waited; a later run does not touch it."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    file = place.scratch / "f"
    done = gathered(place, program, "killed", file, PIECES, mode="log")
    assert done.status != 0
    assert file.stat().st_size == 0, "nothing has gone out"
    names = sorted(one.suffix for one in log_beside(file).iterdir())
    assert names.count(".log") == names.count(".index") == RANKS, names
    logged = sum(one.stat().st_size for one in log_beside(file).glob("*.log"))
    assert logged >= RANKS * PIECES * 8, logged
    place.right(gathered(place, program, "plain", file, PIECES, mode="log"), "again")
    assert all("another run has a log" in one["reason"] for one in notes_of(place)[:1])
    assert log_beside(file).exists()


def log_without_room(place: Place) -> None:
    """What the log had no room for is written by the call, and no part of it comes back."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    file = place.scratch / "f"
    assert gathered(place, program, "log-without-room", file, PIECES, mode="log").status != 0
    logs = [one.read_bytes() for one in log_beside(file).glob("*.log")]
    assert len(logs) == RANKS and all(b"later" in log for log in logs), [len(log) for log in logs]
    assert not any(b"ZZZZ" in log for log in logs)
    assert file.read_bytes().count(b"Z") == RANKS * 60 * 1024


def bytes_of_the_first(content: bytes) -> list[bytes]:
    return [content[at : at + 8] for at in range(0, PIECES * RANKS * 8, RANKS * 8)]


def ways(name: str, mode: str = "memory") -> Callable[[Place], None]:
    """Whatever the file is opened with and however the program ends: the same bytes and status."""

    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None:
            return
        use(place, mpi)
        program = compiled(place, mpi, "gathered_ways.c")
        for way in WAYS:
            files = [place.scratch / "bare", place.scratch / "gathered"]
            done = [place.mpi(RANKS, program, way, files[0], PIECES, preload=False),
                    gathered(place, program, way, files[1], PIECES, mode=mode)]  # fmt: skip
            assert alike(way, *done), (way, done)
            # The launcher kills the others where one aborts, or exits without MPI_Finalize.
            assert way in ("abort", "exit") or not log_beside(files[1]).exists(), way
            shutil.rmtree(log_beside(files[1]), ignore_errors=True)
            bare, found = (one.read_bytes() if one.exists() else b"" for one in files)
            if way in ("abort", "exit"):  # the first rank's end is the others' death
                assert bytes_of_the_first(bare) == bytes_of_the_first(found), way
            else:
                assert bare == found, way
            if mpi.romio and way in ("plain", "write-only"):
                assert writes_of(place) < 20, (way, writes_of(place))
            elif way in ONE_BY_ONE:
                assert writes_of(place) >= PIECES, (way, writes_of(place))
            for one in files:
                one.unlink(missing_ok=True)

    return case


def views(name: str) -> Callable[[Place], None]:
    """Views with holes, and pieces with holes between them.

    No byte that nobody wrote is written, and a rank reads what it wrote.
    """

    def case(place: Place) -> None:
        mpi = find_mpi(name)
        if mpi is None:
            return
        use(place, mpi)
        program = compiled(place, mpi, "gathered_views.c")
        for way, most in VIEWS.items():
            files = [place.scratch / "bare", place.scratch / "gathered"]
            done = [place.mpi(RANKS, program, way, files[0], PIECES, preload=False),
                    gathered(place, program, way, files[1], PIECES)]  # fmt: skip
            place.right(done[1], way)
            assert alike(way, *done), (way, done)
            assert files[0].read_bytes() == files[1].read_bytes(), way
            if mpi.romio and most is not None:
                assert writes_of(place) < most, (way, writes_of(place))
            if way == "large":
                why = [(one["not_held"], one["reason"]) for one in notes_of(place) if one["reason"]]
                assert why == [(1, LONE)] * RANKS, why
            if way == "reads":
                assert reads_of(place, files[1]) == 0, reads_of(place, files[1])
            for one in files:
                one.unlink()

    return case


def threads(place: Place) -> None:
    """Several threads write through one handle, while another one syncs it."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_threads.c", "-pthread")
    for mode in ("memory", "log"):
        file = place.scratch / mode
        done = place.right(gathered(place, program, file, PIECES, mode=mode, shim=True), mode)
        if b"no threads" in done.out:
            not_verified("MPICH 4 without MPI_THREAD_MULTIPLE")
            return
        held = [one for one in notes_of(place) if one["held"]]
        assert sum(one["held"] for one in held) > RANKS * 4 * PIECES * 0.9, held
        assert not log_beside(file).exists()


def notes(place: Place) -> None:
    """The trace and explain say what was held, how it went out, and why something was not."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    gathered(place, program, "plain", place.scratch / "f", PIECES)
    held = notes_of(place)
    assert [one["reason"] for one in held] == [""] * RANKS, held
    assert {one["held"] for one in held} == {PIECES}, held
    assert {(one["flushes"], one["exchange_calls"]) for one in held} == {(1, 1)}, held
    assert sum(one["exchange_bytes"] for one in held) == RANKS * PIECES * 8, held
    for way, reason in (("unique", "MPI_MODE_UNIQUE_OPEN"), ("self", "one rank alone"),
                        ("deleted", "MPI_MODE_DELETE_ON_CLOSE")):  # fmt: skip
        gathered(place, program, way, place.scratch / way, PIECES)
        assert {one["not_held"] for one in notes_of(place)} == {0}, way
        assert all(reason in one["reason"] for one in notes_of(place)), (way, notes_of(place))
    gathered(place, program, "atomic", place.scratch / "a", PIECES)
    why = [one for one in notes_of(place) if one["reason"]]
    assert [(one["not_held"], one["reason"]) for one in why] == [(PIECES, "in atomic mode")] * RANKS
    # Before the trace: what waits when MPI ends is in no file yet.
    gathered(place, program, "finalize", place.scratch / "e", PIECES)
    assert {one["waiting_bytes"] for one in notes_of(place)} == {PIECES * 8}


def trained(place: Place) -> None:
    """What is set for the file says how it is written together: here piece by piece."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    config = place.scratch / "config.xml"
    config.write_text(PIECE_BY_PIECE)
    file = place.scratch / "f"
    place.right(gathered(place, program, "plain", file, PIECES, IOTUNE_CONFIG=config), "trained")
    assert {one["exchange_calls"] for one in notes_of(place)} == {1}
    assert writes_of(place) == RANKS * PIECES, writes_of(place)
    assert file.stat().st_size == RANKS * PIECES * 8


def fatal(place: Place) -> None:
    """The second open fails, and the handler of failing opens ends programs: nothing happens."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_views.c")
    files = [place.scratch / "bare", place.scratch / "gathered"]
    place.right(place.mpi(RANKS, program, "fatal", files[0], PIECES, preload=False), "bare")
    # No trace: there is no descriptor for it either when the file is opened.
    place.right(gathered(place, program, "fatal", files[1], PIECES), "fatal")
    assert files[0].read_bytes() == files[1].read_bytes()


def frozen(place: Place) -> None:
    """Where the site freezes what is set, nothing is held without a stored answer."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    site = place.scratch / "site.conf"
    site.write_text("freeze = yes\n")
    done = gathered(place, program, "plain", place.scratch / "f", PIECES, IOTUNE_SITE_CONFIG=site)
    place.right(done)
    assert writes_of(place) >= RANKS * PIECES
    reasons = {one["reason"] for one in notes_of(place)}
    assert reasons == {"it is gathered by a stored answer alone, and there is none"}


def linked_with_hdf5(place: Place) -> None:
    """MPI_File calls of a program that is linked to HDF5 are its own, not HDF5's."""
    mpi = find_mpi("mpich-4")
    flags = hdf5_flags("hdf5-mpich")
    if mpi is None or flags is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c", "-Wl,--no-as-needed", *flags)
    place.right(gathered(place, program, "plain", place.scratch / "f", PIECES))
    assert writes_of(place) < 20, writes_of(place)


def error_of_full_disk(place: Place, program: Path, count: int) -> None:
    """No space: the next collective call fails on every rank, and so does the close."""
    with small_disk("size=64k") as disk:
        if disk is None:
            not_verified("a full disk: no right to mount one")
            return
        done = gathered(place, program, "full", disk / "f", count)
        place.right(done, "full")
        assert sorted(done.out) == sorted(b"error error\n" * RANKS), done


def full(place: Place) -> None:
    mpi = find_mpi("mpich-4")
    if mpi is not None:
        use(place, mpi)
        error_of_full_disk(place, compiled(place, mpi, "gathered_ways.c"), 20000)


def hdf5_ways(place: Place) -> None:
    """However a program of HDF5 ends, and whatever it writes: the same data, output and status."""
    mpi = find_mpi("mpich-4")
    flags = hdf5_flags("hdf5-mpich")
    if mpi is None or flags is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "hdf5_ways.c", *flags)
    for way in ("plain", "lists", "kinds", "alone", "unlinked", "copied", "finalize",
                "exit"):  # fmt: skip
        files = [place.scratch / "bare.h5", place.scratch / "gathered.h5"]
        done = [place.mpi(RANKS, program, way, files[0], PIECES, preload=False),
                gathered(place, program, way, files[1], PIECES)]  # fmt: skip
        assert alike(way, *done), (way, done)
        assert not done[1].said(), (way, done[1].said())
        assert subprocess.run(["h5diff", *files], check=False).returncode == 0, way
        assert way in ("kinds", "unlinked") or writes_of(place) < 20, (way, writes_of(place))
    # A file that nobody closed has no headers. The elements of who aborts are there.
    done = [place.mpi(RANKS, program, "abort", files[0], PIECES, preload=False),
            gathered(place, program, "abort", files[1], PIECES)]  # fmt: skip
    assert done[0].status == done[1].status
    bare = files[0].read_bytes()
    found = files[1].read_bytes().ljust(len(bare), b"\0")
    row = 8 * 4
    for at in range(len(bare) - PIECES * row, len(bare), RANKS * row):
        assert found[at : at + row] == bare[at : at + row] != bytes(row), at
    error_of_full_disk(place, program, 20000)


def drawn_hdf5(name: str) -> Callable[[Place], None]:
    """Drawn programs of HDF5; `name` "serial": of one process."""

    def case(place: Place) -> None:
        mpi = find_mpi("mpich-4" if name == "serial" else name)
        flags = None if mpi is None else hdf5_flags(mpi.hdf5_package)
        if mpi is None or flags is None:
            not_verified(f"{name}: no parallel HDF5 of it is installed")
            return
        use(place, mpi)
        serial = name == "serial"
        program = compiled(place, mpi, "drawn_hdf5.c", *flags, *(["-DSERIAL"] if serial else []))
        file = place.scratch / "f.h5"
        counts = [0, 0]
        for seed in SEEDS:
            for i, gather in enumerate((None, "memory")):
                how: dict[str, Any] = {"IOTUNE_DB": "none", "IOTUNE_GATHER": gather}
                command = (program, file, seed, 8)
                done = place.run(*command, **how) if serial else place.mpi(RANKS, *command, **how)
                place.right(done, f"seed {seed}")
                assert not done.said(), (seed, done.said())
                counts[i] += writes_of(place)
        assert counts[1] < counts[0], counts

    return case


def hdf5_kernels(place: Place) -> None:
    """Elements in turn by independent H5Dwrites: a few writes, and h5diff finds no difference."""
    found = []
    for gather in (None, "memory"):
        done = place.mpi(RANKS, place.bin / "cyclic-io", "--size", 2000, "--independent",
                         IOTUNE_DB="none", IOTUNE_GATHER=gather)  # fmt: skip
        place.right(done, "cyclic-io")
        (file,) = place.scratch.glob("*.h5")
        file.rename(place.scratch / f"{gather}.kept")
        found.append(writes_of(place))
    same: list[str | Path] = ["h5diff", place.scratch / "None.kept", place.scratch / "memory.kept"]
    assert subprocess.run(same, check=False).returncode == 0
    assert found[1] < found[0] / 20, found


def differing(place: Place) -> None:
    """One rank of two gathers, or keeps logs: nobody waits for who does not take part."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    start = place.scratch / "start"
    start.write_text('#!/bin/sh\n[ "$PMI_RANK" = 0 ] && export IOTUNE_GATHER=memory\nexec "$@"\n')
    start.chmod(0o755)
    file = place.scratch / "f"
    place.right(
        place.mpi(RANKS, start, program, "plain", file, PIECES, IOTUNE_DB="none"), "differing"
    )
    assert writes_of(place) >= 2 * PIECES
    assert file.stat().st_size == RANKS * PIECES * 8
    start.write_text('#!/bin/sh\n[ "$PMI_RANK" = 0 ] && export IOTUNE_GATHER=log\nexec "$@"\n')
    place.right(gathered(place, start, program, "plain", file, PIECES, seconds=30), "logs")
    assert writes_of(place) < 20, writes_of(place)
    assert not log_beside(file).exists()


def recording(place: Place) -> None:
    """A run that only records changes nothing."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "gathered_ways.c")
    done = gathered(place, program, "plain", place.scratch / "f", PIECES, IOTUNE_MODE="record")
    place.right(done)
    assert writes_of(place) >= 2 * PIECES


if __name__ == "__main__":
    mpis = ("mpich-4", "openmpi-4", "mpich-5", "standard-abi", "openmpi-5")
    main({
        **{f"ways-{name}": ways(name) for name in mpis},
        **{f"views-{name}": views(name) for name in mpis},
        **{f"drawn-hdf5-{name}": drawn_hdf5(name) for name in ("serial", "mpich-4", "openmpi-4")},
        "killed": killed, "log-without-room": log_without_room, "ways-log": ways("mpich-4", "log"),
        "threads": threads, "notes": notes, "trained": trained, "fatal": fatal, "frozen": frozen,
        "full": full,
        "linked-with-hdf5": linked_with_hdf5, "hdf5-ways": hdf5_ways,
        "hdf5-kernels": hdf5_kernels, "differing": differing, "recording": recording,
    })  # fmt: skip
