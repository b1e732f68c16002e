"""Programs without HDF5: the array that they wrote is found in the bytes of their ranks."""

from __future__ import annotations

from typing import Any

from support.place import Place, main

RANKS = 4


def datasets(place: Place, how: str, rows: int, columns: int, grid_rows: int,
             header: int = 0) -> list[dict[str, Any]]:  # fmt: skip
    """Run the program; its file's datasets, all of them inferred."""
    place.clear()
    target = place.scratch / "array.bin"
    target.unlink(missing_ok=True)
    program = place.bin / "array_bytes"
    place.right(place.mpi(RANKS, program, target, how, rows, columns, grid_rows, header,
                          IOTUNE_MODE="record"), how)  # fmt: skip
    assert target.stat().st_size == header + 8 * rows * columns
    got = place.summary()
    assert got["warnings"] == [], got
    (file,) = [one for one in got["files"] if one["path"] == str(target)]
    found: list[dict[str, Any]] = file["datasets"]
    assert all(one["inferred"] and one["write"] for one in found), found
    dominant = found[file["speaker"]]
    assert dominant["bytes"] == max(one["bytes"] for one in found), found
    assert dominant["bytes"] == 8 * rows * columns, dominant
    return found


def demand(got: dict[str, Any], text: str, dims: list[int], element: int, grid: list[int],
           name: str = "(bytes)") -> None:  # fmt: skip
    assert got["descriptor"]["text"] == text, got
    assert got["dataset_dims"] == dims and got["element_bytes"] == element, got
    assert got["process_grid"] == grid and got["ranks"] == RANKS, got
    assert got["dataset"] == name and got["repeats"] == 1, got


def subarray(place: Place) -> None:
    """Views declare the array: nothing is ambiguous, not even even columns."""
    (got,) = datasets(place, "subarray", 30, 22, 2)
    demand(got, "<2D,(BLOCK,BLOCK),(15,11)>", [30, 22], 8, [2, 2])
    assert got["ambiguity"] == "" and got["mode"] == "collective", got
    (got,) = datasets(place, "subarray", 30, 24, 1, header=100)
    demand(got, "<2D,(*,BLOCK),(30,6)>", [30, 24], 8, [1, 4], "(bytes from 100)")
    (got,) = datasets(place, "subarray", 31, 7, 4)
    demand(got, "<2D,(BLOCK,*),(8,7)>", [31, 7], 8, [4, 1])


def darray(place: Place) -> None:
    (got,) = datasets(place, "darray", 11, 7, 2)
    demand(got, "<2D,(CYCLIC,BLOCK),(6,4)>", [11, 7], 8, [2, 2])
    assert "CYCLIC" in got["ambiguity"], got
    # The rows of a whole round may as well be one.
    (got,) = datasets(place, "darray", 10, 7, 2)
    demand(got, "<2D,(*,BLOCK),(5,4)>", [5, 14], 8, [1, 4])
    assert "in turns" in got["ambiguity"], got
    # Equal columns are runs dealt out in turns.
    (got,) = datasets(place, "darray", 10, 8, 2)
    demand(got, "<1D,(CYCLIC(4)),(20)>", [80], 8, [4])


def offsets(place: Place) -> None:
    (got,) = datasets(place, "offsets", 30, 23, 2, header=64)
    demand(got, "<2D,(BLOCK,BLOCK),(15,12)>", [30, 23], 8, [2, 2], "(bytes from 64)")
    assert "bytes" not in got["ambiguity"] and got["mode"] == "independent", got
    (got,) = datasets(place, "offsets", 30, 23, 4)
    demand(got, "<1D,(BLOCK),(184)>", [690], 8, [4])


def posix(place: Place) -> None:
    (got,) = datasets(place, "posix", 30, 22, 2)
    demand(got, "<2D,(BLOCK,BLOCK),(15,88)>", [30, 176], 1, [2, 2])
    assert got["ambiguity"].startswith("counts are bytes"), got
    (got,) = datasets(place, "posix", 9, 23, 1)
    demand(got, "<2D,(*,BLOCK),(9,48)>", [9, 184], 1, [1, 4])
    # A header of rank 0 is a dataset of its own, and the larger one is dominant.
    header, got = datasets(place, "posix", 30, 22, 2, header=512)
    assert header["descriptor"]["text"] == "<1D,(*),(511)>" and header["ranks"] == 1, header
    demand(got, "<2D,(BLOCK,BLOCK),(15,88)>", [30, 176], 1, [2, 2], "(bytes from 512)")


if __name__ == "__main__":
    main({"subarray": subarray, "darray": darray, "offsets": offsets, "posix": posix})
