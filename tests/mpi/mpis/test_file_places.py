"""What MPI-IO puts at a file's end, and in another representation: its place, its bytes there."""

from __future__ import annotations

from functools import partial

from support.mpis import NAMES, compiled, find_mpi, use
from support.place import Place, main, not_verified


def places(place: Place, name: str) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "file_places.c")
    done = place.right(place.mpi(1, program, "f"))
    # What the file has says where the writes went.
    content = (place.scratch / "f.end").read_bytes().decode()
    assert content == "a" * 100 + "b" * 5 + "c" * 11
    writes = [call for call in place.calls() if call["name"] == "MPI_File_write"]
    got = [call["extents"] for call in writes[:3]]
    assert [one["pieces"] for one in got] == [[[0, 100]], [[100, 10]], [[105, 11]]], got
    written = {one["path"].rpartition(".")[2]: one["bytes_written"]
               for one in place.summary()["files"]}  # fmt: skip
    assert written["native"] == (place.scratch / "f.native").stat().st_size == 400
    (size,) = [int(line.split()[1]) for line in done.out.decode().splitlines()]
    if size <= 0:
        not_verified(f"external32 under {name}: it does not write it")
    else:
        assert written["external32"] == size, (written, size)


if __name__ == "__main__":
    main({name: partial(places, name=name) for name in NAMES})
