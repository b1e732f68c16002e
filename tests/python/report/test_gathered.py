"""What the report's figures are drawn from: cells, loops, bins and counts, against plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from iotune.html_report.access_loops import MOST_LOOPS, Accesses, AccessLoops
from iotune.html_report.offset_grid import OFFSETS, OffsetGrid
from iotune.html_report.rank_rows import MOST_ROWS, rank_rows
from iotune.html_report.shares import NOBODY, SEVERAL, Selections, shares_of
from iotune.html_report.size_counts import SizeCounts, StripeCounts, grouped_sizes, powers_of
from iotune.html_report.time_bins import BINS, READ, WRITE, TimeBins
from iotune.traces.summary import DatasetPattern


def some(offsets: list[int], length: int = 8, process: int = 0, begin: float = 0.0) -> Accesses:
    count = len(offsets)
    times = begin + np.arange(count) / 1000
    return Accesses(
        np.full(count, process),
        np.ones(count, np.int64),
        times,
        times + 1e-4,
        np.array(offsets, np.int64),
        np.full(count, length, np.int64),
    )


def found(loops: AccessLoops) -> list[tuple[int, ...]]:
    names = ("offset", "length", "stride", "count", "outer_stride", "outer_count")
    return [tuple(int(one[name]) for name in names) for one in loops.loops()]


def test_even_steps_are_one_loop_across_batches() -> None:
    loops = AccessLoops()
    loops.add(some([100 * k for k in range(10)]))
    loops.add(some([100 * k for k in range(10, 25)], begin=1))
    assert found(loops) == [(0, 8, 100, 25, 0, 1)]
    assert loops.accesses == 25 and loops.steady == (1, 25)


def test_a_change_of_step_begins_a_loop() -> None:
    loops = AccessLoops()
    loops.add(some([0, 10, 20, 30, 1000, 1005, 1010]))
    assert found(loops) == [(0, 8, 10, 4, 0, 1), (1000, 8, 5, 3, 0, 1)]


def test_a_change_of_length_begins_a_loop() -> None:
    both = some([0, 8, 16, 24])
    both.length[2:] = 16
    loops = AccessLoops()
    loops.add(both)
    assert [one[:4] for one in found(loops)] == [(0, 8, 8, 2), (16, 16, 8, 2)]


def test_rows_of_a_matrix_are_a_loop_of_loops() -> None:
    loops = AccessLoops()
    loops.add(some([1000 * row + 10 * column for row in range(20) for column in range(5)]))
    assert found(loops) == [(0, 8, 10, 5, 1000, 20)]


def test_processes_and_directions_have_loops_of_their_own() -> None:
    first, second = some([0, 16, 32, 48]), some([8, 24, 40, 56], process=1)
    mixed = Accesses(
        *(
            np.stack([getattr(first, name), getattr(second, name)], axis=1).reshape(-1)
            for name in ("process", "write", "start", "end", "offset", "length")
        )
    )
    loops = AccessLoops()
    loops.add(mixed)
    assert sorted(found(loops)) == [(0, 8, 16, 4, 0, 1), (8, 8, 16, 4, 0, 1)]


def test_random_accesses_leave_few_loops_and_the_long_one() -> None:
    draw = np.random.default_rng(5)
    loops = AccessLoops()
    for _ in range(6):
        loops.add(some(draw.integers(0, 1 << 30, 20_000).tolist()))
    loops.add(some([64 * k for k in range(1000)], length=64))
    kept = found(loops)
    assert len(kept) <= MOST_LOOPS
    assert (0, 64, 64, 1000, 0, 1) in kept
    assert loops.accesses == 121_000
    steady_loops, steady_accesses = loops.steady
    assert 1000 <= steady_accesses < 1100 and steady_loops < 40


def test_the_grid_keeps_every_byte_where_it_lies() -> None:
    draw = np.random.default_rng(7)
    grid = OffsetGrid(3, 1.0)
    plain = np.zeros((2, 3, 40_000))
    for _ in range(3):
        count = 400
        direction, row = draw.integers(0, 2, count), draw.integers(0, 3, count)
        offset = draw.integers(0, 30_000, count)
        length = np.where(draw.random(count) < 0.2, draw.integers(1, 9_000, count), 8)
        grid.add(direction, row, draw.random(count), offset, length)
        for one in zip(direction, row, offset, length):
            plain[one[0], one[1], one[2] : one[2] + one[3]] += 1
    assert grid.bin_bytes * OFFSETS >= grid.end > grid.bin_bytes * OFFSETS / 2
    whole = plain[..., : grid.bin_bytes * OFFSETS]
    padded = np.zeros((2, 3, grid.bin_bytes * OFFSETS))
    padded[..., : whole.shape[-1]] = whole
    np.testing.assert_allclose(grid.by_row, padded.reshape(2, 3, OFFSETS, -1).sum(axis=-1))
    np.testing.assert_allclose(grid.by_time.sum(axis=1), grid.by_row.sum(axis=1))


def test_a_long_call_is_spread_over_its_bins() -> None:
    bins = TimeBins(2, 64.0)
    one = np.array([1])
    bins.add(0, one * WRITE, one, np.array([1.5]), np.array([2.0]), np.array([400.0]))
    bins.add(0, one * READ, one, np.array([63.9]), np.array([5.0]), np.array([7.0]))
    np.testing.assert_allclose(bins.bytes[0, WRITE, 1, 1:4], [100, 200, 100])
    assert bins.bytes[0, WRITE].sum() == pytest.approx(400)
    assert bins.bytes[0, READ, 1, BINS - 1] == 7


def test_sizes_and_alignment_are_counted() -> None:
    sizes = SizeCounts()
    length = np.array([1, 2, 3, 4, 4096, 1 << 40])
    sizes.add(np.full(6, 3), np.array([0, 1, 1, 1, 1, 1]), length)
    assert powers_of(length).tolist() == [0, 1, 1, 2, 12, 40]
    assert sizes.sizes[3, 1, 1] == 2 and sizes.sizes.sum() == 6
    sizes.add_offsets(np.array([1, 1, 0, 1]), np.array([0, 4096, 4096 + 512, 7]))
    assert sizes.multiples_of(12) == (0, 2)
    assert sizes.multiples_of(9) == (1, 2)
    assert grouped_sizes([0, 3, 0, 4]) == [(2, 4, 3), (4, 8, 0), (8, 16, 4)]
    assert sum(one[2] for one in grouped_sizes([1] * 64)) == 64


def test_stripes_touched_and_their_targets() -> None:
    stripes = StripeCounts(100, 4)
    stripes.add(np.array([0, 50, 90, 0]), np.array([100, 100, 20, 1000]))
    assert stripes.touched[:2].tolist() == [1, 2] and stripes.touched[-1] == 1
    plain = np.zeros(4)
    for offset, length in ((0, 100), (50, 100), (90, 20), (0, 1000)):
        for byte in range(offset, offset + length):
            plain[byte // 100 % 4] += 1
    assert stripes.target_bytes.tolist() == plain.tolist()


def test_many_ranks_share_rows_in_their_order() -> None:
    few = rank_rows([{"rank": 1}, {"rank": -1}, {"rank": 0}])
    assert few.labels == ("0", "1", "process 1")
    assert few.row_of_process.tolist() == [1, 2, 0]
    many = rank_rows([{"rank": rank} for rank in range(1000)])
    assert many.count <= MOST_ROWS and many.labels[0] == "0–15" and many.per_row == 16
    assert (np.diff(many.row_of_process) >= 0).all()


def pattern(
    descriptor: str, dims: list[int], grid: list[int], halo: list[int] | None = None
) -> DatasetPattern:
    return DatasetPattern(
        dataset="/d",
        descriptor=descriptor,
        dataset_dims=dims,
        process_grid=grid,
        halo=halo or [],
        ranks=int(np.prod(grid)),
    )


def test_selections_say_which_rank_has_what() -> None:
    def half(start: int) -> str:
        return (
            f'{{"kind": "regular", "start": [{start}, 0], "stride": [1, 1], '
            '"count": [2, 6], "block": [1, 1]}'
        )

    # Backwards: what a descriptor cannot say.
    known = Selections({("/f", "/d", True): {0: {half(2): None}, 1: {half(0): None}}})
    shares = shares_of(pattern("<2D,(BLOCK,*),(2,6)>", [4, 6], [2, 1]), "/f", known)
    assert shares is not None and shares.recorded
    assert shares.cells[0].tolist() == [[1] * 6, [1] * 6, [0] * 6, [0] * 6]


def test_a_descriptor_says_which_place_has_what() -> None:
    shares = shares_of(pattern("<1D,(CYCLIC(2)),(4)>", [8], [2]), "/f", Selections())
    assert shares is not None and not shares.recorded
    assert shares.cells.reshape(-1).tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    # Of three dimensions two are divided: these are drawn.
    shares = shares_of(
        pattern("<3D,(BLOCK,*,BLOCK),(1,3,2)>", [2, 3, 4], [2, 1, 2]), "/f", Selections()
    )
    assert shares is not None and shares.drawn == (0, 2)
    assert shares.cells[0].tolist() == [[0, 0, 1, 1], [2, 2, 3, 3]]
    shares = shares_of(
        pattern("<3D,(BLOCK,BLOCK,BLOCK),(2,1,1)>", [8, 2, 2], [4, 2, 2]), "/f", Selections()
    )
    assert shares is not None and shares.slices == (0, 2, 4) and shares.more_slices == 1
    assert shares.cells[1].tolist() == [[4, 5], [6, 7]]
    assert shares_of(pattern("<1D,(IRREGULAR),(4)>", [8], []), "/f", Selections()) is None
    # Which part of the array it is that they moved nobody knows; an uneven last block is no such.
    for counts, drawn in (("(1,6)", False), ("(2,5)", False), ("(2,6)", True)):
        some = pattern(f"<2D,(BLOCK,*),{counts}>", [3, 6], [2, 1])
        assert (shares_of(some, "/f", Selections()) is not None) == drawn


def test_a_halo_is_several_ranks() -> None:
    blocks = pattern("<1D,(BLOCK),(6)>", [10], [2], halo=[2])
    shares = shares_of(blocks, "/f", Selections())
    assert shares is not None
    assert shares.cells.reshape(-1).tolist() == [0] * 4 + [SEVERAL] * 2 + [1] * 4


def test_fine_pieces_are_drawn_as_a_window() -> None:
    shares = shares_of(pattern("<1D,(CYCLIC),(500000)>", [1_000_000], [2]), "/f", Selections())
    assert shares is not None and not shares.window.is_whole
    assert shares.cells.reshape(-1)[:4].tolist() == [0, 1, 0, 1]
    assert NOBODY not in shares.cells
