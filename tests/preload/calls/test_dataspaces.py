"""Calls of which nothing is recorded go to HDF5 itself after the first, where that can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified

# Of the program's functions those that need no report where a sample is recorded.
DATASPACES = {"H5Screate_simple", "H5Sget_select_npoints", "H5Sclose"}
# Not recorded there either, but seen: the next transfer's selection is known from it.
SELECTS = {"H5Sselect_hyperslab"}
OTHERS = SELECTS | {
    "H5Dget_space", "H5Dcreate2", "H5Dwrite", "H5Dclose", "H5Fcreate", "H5Fclose",
}  # fmt: skip
DATASETS = 4
CALLS = DATASETS * 7 + 1  # on dataspaces, for the datasets, and one that fails


def called(
    place: Place, program: str, preload: Sequence[Path], **env: Any
) -> tuple[dict[str, str], str]:
    """By function: the library that the program's next call would go to; and stderr."""
    path = place.scratch / f"{program}.h5"
    done = place.run(place.bin / program, path, preload=preload,
                     IOTUNE_TRACE=place.trace, IOTUNE_DB="none", **env)  # fmt: skip
    place.right(done, program)
    lines = [line.split(" ", 1) for line in done.out.decode().splitlines()]
    where = {name: Path(library).name for name, library in lines}
    assert where.keys() >= DATASPACES | OTHERS, where
    return where, done.err.decode()


def left(where: dict[str, str]) -> set[str]:
    """Functions that have a wrapper and that the program calls by itself."""
    hdf5 = {name for name, library in where.items() if library.startswith("libhdf5")}
    return hdf5 & (DATASPACES | OTHERS)


def recorded(place: Place) -> int:
    """How many calls on dataspaces stand in the trace, which has all transfers."""
    names = [call["name"] for call in place.calls()]
    assert names.count("H5Dwrite") == DATASETS, names
    return sum(name in DATASPACES | SELECTS for name in names)


def there(place: Place) -> bool:
    if (place.bin / "dataspaces").exists():
        return True
    not_verified("no HDF5 for this test")
    return False


def sample(place: Place) -> None:
    """A sample's programs call HDF5's dataspaces by themselves, but where these change; all else
    comes through us.
    """
    if not there(place):
        return
    bare, _ = called(place, "dataspaces", [])
    assert left(bare) == DATASPACES | OTHERS, bare
    where, said = called(place, "dataspaces", [place.library], IOTUNE_RECORD="sample")
    assert left(where) == DATASPACES, where
    assert {where[name] for name in OTHERS} == {place.library.name}, where
    assert said == "", said
    assert recorded(place) == 0


def everything(place: Place) -> None:
    """Where all calls are recorded, none is left to the program; nor without recording."""
    if not there(place):
        return
    where, _ = called(place, "dataspaces", [place.library], IOTUNE_RECORD="all")
    assert not left(where), where
    assert recorded(place) == CALLS, recorded(place)
    where, _ = called(place, "dataspaces", [place.library], IOTUNE_MODE="off")
    assert not left(where), where


def read_only(place: Place) -> None:
    """A table that the loader made read-only stays as it is."""
    if not there(place):
        return
    where, said = called(place, "dataspaces_now", [place.library], IOTUNE_RECORD="sample")
    assert not left(where), where
    assert said == "" and recorded(place) == 0, said
    # The same program, but its table may be written: bound at its start, too.
    where, said = called(place, "dataspaces", [place.library], IOTUNE_RECORD="sample",
                         LD_BIND_NOW="1")  # fmt: skip
    assert left(where) == DATASPACES, where


def tools(place: Place) -> None:
    """A tool's wrapper before us or behind sees each call; the others are left to the program."""
    if not there(place):
        return
    tool = place.build / "lib" / "libcounting_spaces.so"
    _, alone = called(place, "dataspaces", [tool])
    assert alone.strip() == f"H5Sclose: {3 * DATASETS + 1}", alone
    for order in ([tool, place.library], [place.library, tool]):
        where, said = called(place, "dataspaces", order, IOTUNE_RECORD="sample")
        assert said == alone, (order, said)
        assert left(where) == DATASPACES - {"H5Sclose"}, (order, where)
        assert where["H5Sclose"] == order[0].name, (order, where)


if __name__ == "__main__":
    main({"sample": sample, "all": everything, "read-only": read_only, "tools": tools})
