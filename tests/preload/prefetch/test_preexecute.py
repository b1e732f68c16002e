"""A slice of the program's I/O runs ahead of it (include/iotune.h)."""

from __future__ import annotations

from support.place import Place, main
from support.prefetching import data_file, fuse_works, mounted, requests


def code(place: Place) -> None:
    """A program runs without iotune too, and reads what there is."""
    for name in ("preexecute", "preexecute_no_pie"):
        program = place.bin / name
        bare = place.right(place.run(program, "code", preload=False), name)
        assert bare.out == b"ENOSYS\n", (name, bare.out)
        off = place.right(place.run(program, "code"), name)
        assert off.out == b"ENOTSUP\n", (name, off.out)
        recorded = place.right(
            place.run(program, "code", IOTUNE_PREFETCH="pattern", IOTUNE_MODE="record"), name
        )
        assert recorded.out == b"ENOTSUP\n", (name, recorded.out)
        on = place.right(place.run(program, "code", IOTUNE_PREFETCH="pattern"), name)
        assert on.out == b"0\n", (name, on.out)


def reads(place: Place) -> None:
    """Its reads are prefetches at offsets of its own; it writes nothing."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    for schedule in ("none", "pp", "ppis", "ours"):
        place.clear()
        with mounted(place, place.scratch / "fuse.iotrace", 1) as mount:
            done = place.right(
                place.run(place.bin / "preexecute", "reads", mount / "data",
                          IOTUNE_PREFETCH="pattern", IOTUNE_PREFETCH_SCHEDULE=schedule),
                schedule,
            )  # fmt: skip
            assert done.out == b"40 of 40\n", (schedule, done.out)
        # The slice's calls are not the program's.
        reads = [c for c in place.calls() if c["name"] in ("read", "pread")]
        assert len(reads) == 40, (schedule, len(reads))
        assert requests(place, place.scratch / "fuse.iotrace")


def writes(place: Place) -> None:
    """What the program is still to write is waited for, what it has written is not."""
    data_file(place, 1 << 20)
    for schedule in ("none", "ppis"):
        place.clear()
        done = place.right(
            place.run(place.bin / "preexecute", "writes", place.scratch / "root" / "data",
                      IOTUNE_PREFETCH="pattern", IOTUNE_PREFETCH_SCHEDULE=schedule)
        )  # fmt: skip
        assert done.out == b"written\n", done.out


if __name__ == "__main__":
    main({"code": code, "reads": reads, "writes": writes})
