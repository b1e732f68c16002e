"""What the trace has of HDF5's transfers is what the program and HDF5 itself say of them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

from support.place import Place, main

Points = set[tuple[int, ...]]
KINDS = {"none": 0, "all": 1, "regular": 2, "union": 3, "points": 4, "as-in-file": 6}


def transfers(place: Place, rank: int = 0) -> list[dict[str, Any]]:
    return [
        {"name": call["name"], "text": call["text"], **one}
        for call in place.calls()
        if call["rank"] == rank and call["layer"] == "hdf5"
        for one in call["transfers"]
    ]


def points_of(selection: dict[str, Any]) -> Points:
    """The indices of a recorded selection."""
    rows = selection["rows"]
    found: Points = set()
    if selection["kind"] == KINDS["all"]:
        found.update(product(*map(range, rows[0])))
    elif selection["kind"] == KINDS["regular"]:
        along = [
            [start + i * stride + k for i in range(count) for k in range(block)]
            for start, stride, count, block in zip(*rows)
        ]
        found.update(product(*along))
    elif selection["kind"] == KINDS["union"]:
        for first, last in zip(rows[::2], rows[1::2]):
            found.update(product(*(range(a, b + 1) for a, b in zip(first, last))))
    elif selection["kind"] == KINDS["points"]:
        found.update(tuple(row) for row in rows)
    return found


def memory(place: Place) -> None:
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    done = place.right(place.mpi(1, place.bin / "hdf5_transfers", "memory", "a.h5", seed))
    recorded = transfers(place)
    said = [line.split() for line in done.out.decode().splitlines()]
    assert len(recorded) == len(said), (len(recorded), len(said))
    kinds = set()
    for (kind, *indices), transfer in zip(said, recorded):
        have = transfer["memory"]
        # A union may turn out regular, and a regular one the whole.
        kinds.add(have["kind"])
        allowed = {"union": (2, 3), "regular": (1, 2)}.get(kind, (KINDS[kind],))
        assert have["kind"] in allowed, (kind, transfer)
        expected = {tuple(map(int, index.split(","))) for index in indices}
        assert points_of(have) == expected, (kind, transfer)
        if kind not in ("none", "as-in-file"):
            assert transfer["points"] == len(expected) == len(points_of(transfer["file"])), transfer
    assert kinds >= set(KINDS.values()), kinds


# Of a union that HDF5 1.10 calls regular, with blocks that overlap.
ONCE_WRONG = 1484115850


def changes(place: Place) -> None:
    """Of dataspaces that are kept HDF5 is asked but seldom: what is recorded is what it says."""
    for seed in (ONCE_WRONG, random.SystemRandom().randrange(2**31)):
        print("seed", seed)
        changes_of(place, seed)


def changes_of(place: Place, seed: int) -> None:
    done = place.right(place.mpi(1, place.bin / "hdf5_transfers", "changes", "a.h5", seed))
    recorded = transfers(place)
    said = [line.split() for line in done.out.decode().splitlines()]
    assert len(recorded) == len(said) > 1000, (len(recorded), len(said))
    for i, ((start, count, what, *indices), transfer) in enumerate(zip(said, recorded)):
        if what == "failed":
            assert transfer["file"]["kind"] == -1, (i, transfer)
            continue
        expected = {tuple(map(int, index.split(","))) for index in indices}
        assert points_of(transfer["file"]) == expected, (i, transfer)
        assert transfer["points"] == len(expected), (i, transfer)
        have = {point for (point,) in points_of(transfer["memory"])}
        assert have == set(range(int(start), int(start) + int(count))), (i, transfer)


def collective(place: Place) -> None:
    """What HDF5 did is asked where the program asked for collective I/O, and nowhere else."""
    done = place.right(place.mpi(2, place.bin / "hdf5_transfers", "collective", "a.h5"))
    lines = [line.split() for line in done.out.decode().splitlines()]
    for rank in (0, 1):
        said = [words[1:] for words in lines if int(words[0]) == rank]
        recorded = transfers(place, rank)
        assert len(recorded) == len(said) == 8, (said, recorded)
        for words, transfer in zip(said, recorded):
            actual = transfer.get("actual")
            if words == ["independent"]:
                assert actual is None and transfer["mode"] == 0, transfer
            else:
                assert transfer["mode"] == 1 and actual == list(map(int, words)), (words, transfer)
        modes = {transfer["actual"][0] for transfer in recorded[:4]}
        causes = {transfer["actual"][2] for transfer in recorded[:4]}
        assert 0 in modes and len(modes) >= 2 and causes == {0, 2}, (modes, causes)
        assert "done: collective (contiguous)" in recorded[0]["text"], recorded[0]["text"]
        assert "because: datatype conversion" in recorded[2]["text"], recorded[2]["text"]


def chunks(place: Place) -> None:
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    done = place.right(place.mpi(1, place.bin / "hdf5_transfers", "chunks", "a.h5", seed))
    (_, rows, columns), *said = [line.split() for line in done.out.decode().splitlines()]
    recorded = transfers(place)
    assert [transfer["name"] for transfer in recorded] == [
        "H5Dwrite_chunk",
        "H5Dread_chunk",
    ] * len(said)
    for line, transfer in zip([line for line in said for _ in range(2)], recorded):
        row, column, height, width = map(int, line)
        expected = set(product(range(row, row + height), range(column, column + width)))
        assert points_of(transfer["file"]) == expected, (line, transfer)
        assert transfer["memory"]["kind"] == 7 and transfer["type_bytes"] == 8, transfer
    (file,) = [f for f in place.summary()["files"] if f["datasets"]]
    for dataset in file["datasets"]:
        assert dataset["bytes"] == 8 * int(rows) * int(columns), dataset
        assert dataset["descriptor"]["text"] == f"<2D,(*,*),({rows},{columns})>", dataset
        assert dataset["calls"] == len(said), dataset


if __name__ == "__main__":
    main({"memory": memory, "changes": changes, "collective": collective, "chunks": chunks})
