"""fadvise reaches the descriptors of an open, fallocate the blocks of a new file.

Read back from the kernel: the pages that it read ahead, the blocks that a file holds.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.settings import outcomes, write_config

FORMS = {"hdf5": (), "mpiio": ("--mpiio",), "serial": ("--serial",)}
MIB = 1 << 20


def config(place: Place, **settings: object) -> Path:
    return write_config(place.scratch / "config.xml", **settings)


def ask(place: Place, form: str, file: Path, *, fresh: bool = True,
        **env: Any) -> dict[str, tuple[str, str, str]]:  # fmt: skip
    if fresh:
        file.unlink(missing_ok=True)
    place.trace.unlink(missing_ok=True)
    done = place.mpi(2, place.bin / "ask_settings", file, *FORMS[form],
                     IOTUNE_TRACE=place.trace, IOTUNE_CONFIG=place.scratch / "config.xml",
                     **env)  # fmt: skip
    place.right(done, form)
    return outcomes(place.calls())


def held(file: Path) -> int:
    return file.stat().st_blocks * 512


def reserves(folder: Path) -> bool:
    """Whether the kernel and this folder's file system know reservations at all."""
    probe = folder / "probe"
    with probe.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, MIB)
        except OSError:
            return False
    enough = held(probe) >= MIB
    probe.unlink()
    return enough


def reserved(place: Place) -> None:
    if not reserves(place.scratch):
        not_verified("the file system of the tests reserves nothing")
        return
    for form in FORMS:
        file = place.scratch / f"{form}.h5"
        config(place, fadvise="normal")
        ask(place, form, file)
        plain_bytes, plain_held = file.stat().st_size, held(file)
        assert plain_held < 8 * MIB, plain_held
        config(place, fallocate=8 * MIB)
        verdict, got, reason = ask(place, form, file)["fallocate"]
        assert (verdict, reason) == ("applied", "") and int(got) >= 8 * MIB, (form, verdict, reason)
        assert file.stat().st_size == plain_bytes, form
        # A file of MPI-IO keeps what it was given; HDF5 may cut its file to what it holds.
        if form == "mpiio":
            assert held(file) >= 8 * MIB, held(file)


def refused(place: Place) -> None:
    file = place.scratch / "a.h5"
    space = os.statvfs(place.scratch)
    eighth = space.f_bavail * space.f_frsize // 8
    config(place, fallocate=min(2 * eighth, 1 << 40))
    for form in FORMS:
        verdict, _, reason = ask(place, form, file)["fallocate"]
        expected = "memory" if space.f_blocks == 0 else "an eighth of the file system's free space"
        assert verdict == "refused" and expected in reason, (form, reason)
        assert held(file) < min(eighth, 8 * MIB), form
    memory = Path("/dev/shm") / f"iotune-test-{os.getpid()}.h5"
    config(place, fallocate=65536)
    try:
        verdict, _, reason = ask(place, "hdf5", memory, IOTUNE_INCLUDE="/dev/shm/*")["fallocate"]
    finally:
        memory.unlink(missing_ok=True)
    assert (verdict, reason) == ("refused", "the file system is kept in memory"), reason
    # The limit of a file's size, whose signal would end the program.
    config(place, fallocate=64 * MIB)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32 * MIB, hard))
    try:
        verdict, _, reason = ask(place, "hdf5", file)["fallocate"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert verdict == "refused" and "ulimit" in reason, reason


def found_there(place: Place) -> None:
    """A file with holes of its own keeps them; one that the open empties is a new one."""
    if not reserves(place.scratch):
        not_verified("the file system of the tests reserves nothing")
        return
    config(place, fallocate=8 * MIB)
    for form in FORMS:
        file = place.scratch / f"{form}.h5"
        with file.open("wb") as hollow:
            hollow.truncate(8 * MIB)
        verdict, _, reason = ask(place, form, file, fresh=False)["fallocate"]
        if form == "mpiio":
            assert (verdict, reason) == ("refused", "the file exists: nothing is allocated anew")
            assert held(file) < MIB and file.stat().st_size == 8 * MIB, held(file)
        else:
            assert verdict == "applied", (form, reason)


def advised(place: Place) -> None:
    for form in FORMS:
        config(place, fadvise="random")
        verdict, got, reason = ask(place, form, place.scratch / "a.h5")["fadvise"]
        assert (verdict, got) == ("unverifiable", "") and "took the advice" in reason, (
            form,
            reason,
        )
    # What the kernel does of it: it reads ahead, or does not.
    file = place.scratch / "rows.h5"
    pages = {}
    for advice in ("normal", "random"):
        done = place.run(place.bin / "few_rows", "make", file, preload=False)
        place.right(done, "make")
        config(place, fadvise=advice)
        place.trace.unlink(missing_ok=True)
        done = place.run(place.bin / "few_rows", "read", file, IOTUNE_TRACE=place.trace,
                         IOTUNE_CONFIG=place.scratch / "config.xml")  # fmt: skip
        place.right(done, advice)
        assert outcomes(place.calls())["fadvise"][0] == "unverifiable", advice
        pages[advice] = int(done.out.split(b"pages ")[1].split()[0])
    if pages["normal"] >= 1000:
        not_verified("the file system of the tests keeps or reads the whole file")
        return
    assert pages["random"] < pages["normal"], pages
    assert pages["random"] <= 4 * 16 + 16, pages  # four rows, and what HDF5 reads of its own


if __name__ == "__main__":
    main({"reserved": reserved, "refused": refused, "found-there": found_there, "advised": advised})
