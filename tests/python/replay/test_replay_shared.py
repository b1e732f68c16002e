"""Replays of transfers through shared file pointers: they go where the recorded ones went."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

import iotune
from iotune.launch import preload
from iotune.replay.event import View
from iotune.replay.mpi import find_mpi
from support.installed.replays import base_name, compiled, record, replayed, typed

pytestmark = pytest.mark.mpi

needs_runs = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None or find_mpi().compiler is None,
    reason="NOT VERIFIED: replays of shared pointers: libiotune.so or mpicc is missing",
)
RANKS = 2


def moved(trace: iotune.Trace, folder: str) -> list[tuple]:
    """Rank, direction, file, offset and length of what reached the files, sorted.

    Without what data sieving reads: how much of it is there depends on who was first.
    """
    frame = trace.calls(layer=("posix", "stdio"), file=f"*/{folder}/*")
    frame = frame[frame["length_bytes"].notna() & ~frame["file"].str.contains("shfp")]
    columns = ["rank", "call", "file", "offset_bytes", "length_bytes"]
    places = (
        (row.rank, "write" in row.call, base_name(row.file), row.offset_bytes, row.length_bytes)
        for row in frame[columns].itertuples(index=False)
    )
    return sorted(place for place in places if place[1] or place[2] == "plain")


def run(work: Path, hints: str) -> iotune.Trace:
    mpi = find_mpi()
    assert mpi.compiler is not None
    (work / "data").mkdir()
    (work / "hints").write_text(hints)
    program = compiled(work, mpi.compiler, "shared_io_forms")
    command = ["env", f"ROMIO_HINTS={work / 'hints'}", *mpi.command(RANKS), program]
    return record(work, "program.iotrace", [*command, str(work / "data")])


@needs_runs
def test_transfers_go_where_the_recorded_ones_went(tmp_path: Path) -> None:
    # given
    trace = run(tmp_path, "")
    # when
    again, plan = replayed(tmp_path, find_mpi(), "again", RANKS)
    # then
    expected = moved(trace, "data")
    assert moved(again, "again") == expected and len(expected) > 25
    for kind in ("write ", "write-all ", "iwrite ", "write-all-begin ", "read ", "read-all "):
        assert plan.count(f" mpi-{kind}") >= 1
    assert plan.count("write-all-begin") == plan.count("write-all-end") == RANKS
    assert f" mpi-{'read-all'} 0 0 0 " in plan  # of no bytes: no place is needed
    # and on one rank
    alone, plan = replayed(tmp_path, find_mpi(), "alone", 1, "-n", "1")
    assert sorted(row[1:] for row in moved(alone, "alone")) == sorted(row[1:] for row in expected)


@needs_runs
def test_where_ranks_do_each_others_part_what_they_did_is_replayed(tmp_path: Path) -> None:
    # given two-phase I/O: what a rank writes is not what it passed
    trace = run(tmp_path, "romio_cb_write enable\nromio_cb_read enable\ncb_nodes 1\n")
    # when
    again, plan = replayed(tmp_path, find_mpi(), "again", RANKS)
    # then nothing is left out
    assert "mpi" not in plan
    there, expected = Counter(moved(again, "again")), Counter(moved(trace, "data"))
    # Beside them what is read is made first.
    assert not {place for place in expected - there if place[1]}
    # but where only MPI-IO is asked for, and then no end is left without its beginning
    plan = typed(tmp_path, "replay", "program.iotrace", "--layer", "mpi", "--plan-only")
    assert plan.count("mpi-write-all-begin") == plan.count("mpi-write-all-end") < RANKS
    assert "KiB" in typed(tmp_path, "replay", "program.iotrace", "--layer", "mpi")


def brute(view: View, tiles: int) -> list[int]:
    """Places of all data bytes of some tiles, one by one."""
    inside: list[int] = []
    if view.kind == 0:
        inside = list(range(view.data_bytes))
    elif view.kind == 1:
        element, *rest = view.layout
        n = len(rest) // 3
        sizes, parts, starts = rest[:n], rest[n : 2 * n], rest[2 * n :]
        for at in itertools.product(*(range(a, a + p) for a, p in zip(starts, parts))):
            index = 0
            for coordinate, size in zip(at, sizes):
                index = index * size + coordinate
            inside += range(index * element, (index + 1) * element)
    else:
        for k in range(0, len(view.layout), 4):
            offset, size, stride, count = view.layout[k : k + 4]
            for i in range(count):
                inside += range(offset + i * stride, offset + i * stride + size)
    assert len(inside) == view.data_bytes
    return [
        view.displacement + tile * view.tile_bytes + place
        for tile in range(tiles)
        for place in inside
    ]


def test_places_of_a_views_data() -> None:
    draw = random.Random(4)
    for _ in range(200):
        kind = draw.randrange(3)
        displacement, element = draw.randrange(100), draw.choice((1, 4, 8))
        if kind == 0:
            view = View(0, displacement, element, element, element)
        elif kind == 1:
            sizes = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
            parts = [draw.randint(1, size) for size in sizes]
            starts = [draw.randint(0, size - part) for size, part in zip(sizes, parts)]
            data, tile = element, element
            for size, part in zip(sizes, parts):
                data, tile = data * part, tile * size
            layout = (element, *sizes, *parts, *starts)
            view = View(1, displacement, element, data, tile, layout)
        else:
            at, data, runs = 0, 0, []
            for _ in range(draw.randint(1, 4)):
                size, count = draw.randint(1, 9), draw.randint(1, 4)
                offset, stride = at + draw.randrange(4), size + draw.randrange(5)
                runs += [offset, size, stride, count]
                at, data = offset + (count - 1) * stride + size, data + size * count
            view = View(2, displacement, 1, data, at + draw.randrange(4), tuple(runs))
        places = brute(view, 3)
        assert [view.place_of(i) for i in range(len(places))] == places
        known = {place: i for i, place in enumerate(places)}
        for place in range(places[0] - 2, places[-1] + 1):
            assert view.data_at(place) == known.get(place)
