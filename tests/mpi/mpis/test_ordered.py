"""Calls by the shared pointer keep the order of the ranks where iotune turned off the exchange.

Bare, a ROMIO with that hint loses that order: where it does, a case sees this first, of the
program's own hints.
"""

from __future__ import annotations

import os

from support.mpis import compiled, find_mpi, use
from support.place import Place, main
from support.preloaded import Done
from support.settings import outcomes, write_config

UNJOINED = {
    "romio_cb_write": "disable", "romio_cb_read": "disable", "romio_ds_write": "disable"
}  # fmt: skip


def wrong_bytes(done: Done) -> list[int]:
    """Of writes and of reads."""
    return [int(word) for word in done.out.split()]


def ordered(
    place: Place, name: str, mpi_io: str = "", applied: bool = True, loses: bool = True
) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    if mpi_io:
        os.environ["OMPI_MCA_io"] = mpi_io
    program = compiled(place, mpi, "ordered_calls.c")
    config = write_config(place.scratch / "config.xml", **UNJOINED)
    hints = [f"{one}={value}" for one, value in UNJOINED.items()]
    bare = place.right(place.mpi(2, program, "bare", *hints, preload=False))
    assert not loses or min(wrong_bytes(bare)) > 0, f"this MPI keeps the order: {bare.out!r}"
    for form in ("plain", "split"):
        place.trace.unlink(missing_ok=True)
        done = place.right(place.mpi(2, program, form, form, IOTUNE_TRACE=place.trace,
                                     IOTUNE_CONFIG=config, IOTUNE_DB="none"))  # fmt: skip
        assert wrong_bytes(done) == [0, 0], (form, done.out)
        said = outcomes(place.calls())
        for one in ("romio_cb_write", "romio_cb_read"):
            assert (said[one][0] in ("applied", "unverifiable")) == applied, (form, said)


if __name__ == "__main__":
    main(
        {
            "mpich-4": lambda place: ordered(place, "mpich-4"),
            "mpich-5": lambda place: ordered(place, "mpich-5"),
            # It hands its ROMIO no hints, the program's neither.
            "openmpi-5": lambda place: ordered(
                place, "openmpi-5", "romio341", applied=False, loses=False
            ),
            # It takes no hint of an open file.
            "openmpi-4": lambda place: ordered(place, "openmpi-4", "romio321", applied=False),
        }
    )
