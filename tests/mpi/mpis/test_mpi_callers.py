"""What is not called by one C thread: Fortran's three bindings, HDF5's Fortran, several threads."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from support.mpis import NAMES, compiled, find_mpi, linked_folders, use
from support.place import Place, main, not_verified

BINDINGS = {1: "mpif.h", 2: "use mpi", 3: "use mpi_f08"}
THREADS, WRITES, BYTES = 4, 50, 64


def merged(place: Place) -> list[dict[str, Any]]:
    assert place.leftovers() == [], place.leftovers()
    calls = place.calls()
    assert {call["rank"] for call in calls} == {0, 1}
    return calls


def fortran(place: Place, name: str) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    if not mpi.fortran():
        not_verified(f"{name} has no Fortran compiler here")
        return
    use(place, mpi)
    folders = linked_folders(mpi)
    for binding, said in BINDINGS.items():
        flags = ["-cpp", f"-DBINDING={binding}", "-fallow-argument-mismatch", *folders]
        program = compiled(place, mpi, "mpi_fortran.f90", *flags, compiler=mpi.fortran())
        place.clear()
        place.right(place.mpi(2, program, "a.bin", IOTUNE_DB="none"), said)
        contents = (place.scratch / "a.bin").read_bytes()
        assert contents == b"".join(bytes([rank + 1, 0, 0, 0]) * 10
                                    for _ in range(10) for rank in (0, 1))  # fmt: skip
        calls = merged(place)
        for rank in (0, 1):
            mine = [call for call in calls if call["rank"] == rank]
            # Once each, however many of MPI's own layers the call goes through.
            for once in ("MPI_Init", "MPI_File_open", "MPI_File_set_view", "iotune_view",
                         "MPI_File_write_all", "MPI_File_close", "MPI_Finalize"):  # fmt: skip
                assert len([c for c in mine if c["name"] == once]) == 1, (said, once)
            (write,) = [c for c in mine if c["name"] == "MPI_File_write_all"]
            assert write["arguments"]["count"] == 100 and write["arguments"]["extras"] == [4]
            expected = [[80 * i + 40 * rank, 40] for i in range(10)]
            assert write["extents"] == {"pieces": expected, "unknown": ""}, (said, write)


def hdf5_fortran(place: Place, name: str, package: str) -> None:
    """libhdf5_fortran goes through the C library: its transfers, with the dimensions turned."""
    mpi = find_mpi(name)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True,
                           text=True, check=False)  # fmt: skip
    if mpi is None or not mpi.fortran() or flags.returncode != 0:
        not_verified(f"HDF5's Fortran library over {name} ({package}) or its compiler is not here")
        return
    use(place, mpi)
    program = compiled(place, mpi, "hdf5_fortran.f90", *flags.stdout.split(), "-lhdf5_fortran",
                       compiler=mpi.fortran())  # fmt: skip
    place.right(place.mpi(2, program, "bare.h5", preload=False))
    place.right(place.mpi(2, program, "a.h5", IOTUNE_DB="none"))
    assert (place.scratch / "a.h5").stat().st_size == (place.scratch / "bare.h5").stat().st_size
    calls = merged(place)
    for rank in (0, 1):
        moves = [c for c in calls if c["rank"] == rank and c["name"] in ("H5Dwrite", "H5Dread")]
        # Object, mode, bytes and points, then kind, dimensions, start, stride, count, block.
        got = [(c["name"], c["arguments"]["extras"][1:14]) for c in moves]
        assert [name for name, _ in got] == ["H5Dwrite", "H5Dread"], got
        (_, write), (_, read) = got
        assert write[:7] == [1, 8, 50, 2, 2, 10 * rank, 2], write
        assert [a * b for a, b in zip(write[9:11], write[11:13])] == [10, 5], write
        assert read == [0, 8, 20, 2, 2, rank, 3, 2, 1, 10, 1, 1, 2], read


def threads(place: Place, name: str) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "mpi_threads.c", "-pthread")
    bare = place.mpi(2, program, "b", preload=False)
    if bare.status != 0 or bare.out != b"multiple\n":
        not_verified(f"threads under {name}: {bare.out!r}, status {bare.status}")
        return
    done = place.right(place.mpi(2, program, "t", IOTUNE_DB="none"))
    assert done.out == bare.out
    calls = merged(place)
    for rank in (0, 1):
        by_file: dict[int, list[dict[str, Any]]] = {}
        for call in calls:
            if call["rank"] == rank and call["name"] == "MPI_File_write_at":
                by_file.setdefault(call["thread"], []).append(call)
        assert len(by_file) == THREADS and all(len(w) == WRITES for w in by_file.values())
        firsts = sorted(writes[0]["extents"]["pieces"][0][0] for writes in by_file.values())
        assert firsts == list(range(THREADS)), firsts
        for writes in by_file.values():
            start = writes[0]["extents"]["pieces"][0][0]
            # A tile holds a block's halves with a hole between them: 1.5 blocks.
            for i, write in enumerate(writes):
                at = start + i * BYTES * 3 // 2
                pieces = [[at, BYTES // 2], [at + BYTES, BYTES // 2]]
                assert write["extents"]["pieces"] == pieces, (write["extents"], pieces)
        for thread in range(THREADS):
            with_us = (place.scratch / f"t.{rank}.{thread}").read_bytes()
            assert with_us.count(b"abcd"[thread]) == WRITES * BYTES


def with_stand_in(place: Place, source: str) -> Path | None:
    """The program, and a preload that asks tests/mpi/programs/stand_ins/one_thread_database.c."""
    mpi = find_mpi("mpich-4")
    if mpi is None:
        return None
    use(place, mpi)
    alone = place.buffers / "lib"  # LD_PRELOAD splits at spaces
    alone.mkdir()
    place.library = Path(shutil.copy(place.library, alone))
    shutil.copy(place.build / "lib" / "libone_thread_database.so", alone / "libiotune-db.so")
    return compiled(place, mpi, source, "-pthread")


def left_by_jump(place: Place) -> None:
    """A handler's longjmp out of the database library: it is not asked again, and nobody waits."""
    program = with_stand_in(place, "mpi_jump.c")
    if program is None:
        return
    done = place.right(place.mpi(1, program, "j", JUMP=1))
    assert done.out == b"jumped 1\n" and done.err == b"", done
    assert (place.scratch / "j").read_bytes() == b"xxx"
    assert "iotune_decision" not in {call["name"] for call in place.calls()}


def one_thread_asks(place: Place) -> None:
    """Threads open files at once: the database library is for one of them at a time."""
    program = with_stand_in(place, "mpi_threads.c")
    if program is None:
        return
    done = place.right(place.mpi(2, program, "t"))
    assert done.err == b"", done.err
    decided = [call for call in place.calls() if call["name"] == "iotune_decision"]
    assert len(decided) == 2 * THREADS, decided


def loaded_before_files(place: Place) -> None:
    """The database library is loaded before the first file is opened: another thread may be in the
    loader then, and wait for the one that opens it.
    """
    program = with_stand_in(place, "first_files.c")
    if program is None:
        return
    done = place.right(place.mpi(1, program, "m", LOADED=1))
    assert done.out == b"loaded\nbegins\n" and done.err == b"", done
    mpi = find_mpi("mpich-4")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5-mpich"], capture_output=True,
                           text=True, check=False)  # fmt: skip
    if mpi is None or flags.returncode != 0:
        not_verified("the database library at start: HDF5 over MPICH is not here")
        return
    program = compiled(place, mpi, "first_files.c", "-DBY_HDF5", *flags.stdout.split())
    done = place.right(place.run(program, "h", LOADED=1))
    assert done.out == b"loaded\nbegins\n" and done.err == b"", done


if __name__ == "__main__":
    cases = {f"fortran-{name}": partial(fortran, name=name) for name in NAMES}
    cases |= {
        f"hdf5-fortran-{mpi}": partial(hdf5_fortran, name=f"{mpi}-4", package=f"hdf5-{mpi}")
        for mpi in ("mpich", "openmpi")
    }
    cases |= {f"threads-{name}": partial(threads, name=name) for name in NAMES}
    main({**cases, "one-thread-asks": one_thread_asks, "left-by-jump": left_by_jump,
          "loaded-before-files": loaded_before_files})  # fmt: skip
