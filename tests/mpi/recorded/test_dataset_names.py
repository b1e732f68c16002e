"""A dataset is an object of its file: its names are one dataset, a name made again is a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.place import Place, main

# Of each dataset: calls of a rank.
NAMES = [
    ("/copy", 1), ("/first", 5), ("/gone", 1), ("/gone", 1), ("/linked", 2), ("/old", 1),
    ("/old", 2),
]  # fmt: skip


def seen(place: Place) -> dict[str, list[tuple[str, int]]]:
    files = {Path(one["path"]).name: one for one in place.summary()["files"]}
    return {
        name: sorted((one["dataset"], one["calls"]) for one in files[name]["datasets"])
        for name in ("names.h5", "again.h5", "other.h5")
    }


def ranks(count: int, *more: str) -> Callable[[Place], None]:
    def test(place: Place) -> None:
        folder = place.scratch / "f"
        folder.mkdir()
        program = place.bin / "dataset_names"
        place.right(place.mpi(count, program, folder, *more, cwd=place.scratch))
        found = seen(place)
        # The first of "gone" is written by rank 0 alone.
        all_ranks = sorted(
            (name, calls * count) for name, calls in NAMES if (name, calls) != ("/gone", 1)
        )
        gone = [calls for name, calls in found["names.h5"] if name == "/gone"]
        assert [one for one in found["names.h5"] if one[0] != "/gone"] == all_ranks, found
        assert gone == sorted([1, count]), found
        assert found["again.h5"] == [("/step", 3 * count)], found
        assert found["other.h5"] == [("/far", 2 * count)], found

    return test


if __name__ == "__main__":
    main({"alone": ranks(1), "together": ranks(2), "collective-metadata": ranks(2, "collective")})
