"""Regions of several ranks are one, and stay so in a trace in which alike ranks are merged."""

from __future__ import annotations

from support.place import Place, main

BLOCK = 4096


def ranks(place: Place) -> None:
    for above in (None, 0):
        place.clear()
        place.right(
            place.mpi(2, place.bin / "regions_mpi", place.scratch / "data",
                      IOTUNE_MERGE_ABOVE_MIB=above),
            str(above),
        )  # fmt: skip
        found = {tuple(one["path"]): one for one in place.summary()["regions"]}
        epoch, write = found["epoch",], found["epoch", "write"]
        assert (epoch["entered"], epoch["processes"], epoch["open"]) == (10, 2, 0), (above, epoch)
        assert (write["entered"], write["calls"]) == (10, 10), (above, write)
        assert write["bytes_written"] == 2 * 5 * BLOCK, (above, write)
        # Rank 1 waits in each epoch.
        assert epoch["seconds"] / 2 < epoch["slowest_seconds"] < epoch["seconds"], (above, epoch)


if __name__ == "__main__":
    main({"ranks": ranks})
