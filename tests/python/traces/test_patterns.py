"""iotune.patterns: what is recognised, printed, and refused."""

from __future__ import annotations

import array
import doctest
import re

import pytest

from iotune import Error, patterns


def walk(unit: str) -> list[int]:
    """Return |d|·r values of one of the papers' units, and the value behind them."""
    hit = re.fullmatch(r"\[(-?\d+)(?:,\(([-\d,]+)\)\^(\d+))?\]", unit)
    assert hit, unit
    values = [int(hit[1])]
    for _ in range(int(hit[3] or 0)):
        for delta in hit[2].split(","):
            values.append(values[-1] + int(delta))
    return values


def test_the_docstrings_examples() -> None:
    assert doctest.testmod(patterns).attempted > 3
    assert doctest.testmod(patterns).failed == 0


def test_the_papers_example() -> None:
    offsets = [0, 3, 7, 14, 17, 21, 28, 31, 35, 42, 46, 50, 54, 58]
    found = patterns.recognise(offsets, [2] * 14, algorithm="he2013")
    assert [unit.text.split(" lengths ")[0] for unit in found.units] == [
        "[0,(3,4,7)^3]",
        "[42,(4)^4]",
    ]
    assert [unit.accesses for unit in found.units] == [9, 5]


def test_units_are_the_accesses() -> None:
    offsets = [7 * k * k % 50 + 1000 * (k // 9) for k in range(90)]
    lengths = [8 + k % 3 for k in range(90)]
    found = patterns.recognise(offsets, lengths, algorithm="he2013")
    walked = []
    for unit in found.units:
        walked += walk(unit.text.split(" lengths ")[0])[: unit.accesses]
    assert walked == offsets


def test_a_window_that_holds_the_period() -> None:
    offsets = [1000 * (k // 9) + (k % 9) ** 2 for k in range(91)]
    narrow = patterns.recognise(offsets, [1] * 91, algorithm="he2013")
    wide = patterns.recognise(offsets, [1] * 91, algorithm="he2013", window=9)
    assert len(wide.units) == 1 < len(narrow.units)
    assert wide.rate > narrow.rate


def test_nests_of_three_loops() -> None:
    offsets = [9 * z + 90 * y + 9000 * x for x in range(6) for y in range(5) for z in range(4)]
    found = patterns.recognise(offsets, [9] * 120)
    assert str(found) == "6×{5×{4×{(0,9); +9}; +90}; +9000}"
    assert found.accesses == 120
    assert found.rate > 300


def test_numpy_arrays_of_any_integers() -> None:
    np = pytest.importorskip("numpy")
    both = np.arange(0, 400, 2, dtype=np.int64).reshape(100, 2)
    strided = patterns.recognise(both[:, 0], np.full(100, 4, dtype=np.uint16))
    assert str(strided) == "100×{(0,4); +4}"
    assert str(patterns.recognise(both[:, 0].astype(">i8"), [4] * 100)) == str(strided)
    assert str(patterns.recognise(array.array("q", range(0, 400, 4)), [4] * 100)) == str(strided)
    assert str(patterns.recognise(both[:, 0].astype(np.uint64), [4] * 100)) == str(strided)
    beyond = np.full(4, 2**63, dtype=np.uint64)
    for wrong in (np.zeros(4), beyond, np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(Error):
            patterns.recognise(wrong, [4] * 4)


def test_nothing() -> None:
    for algorithm in patterns.ALGORITHMS:
        found = patterns.recognise([], [], algorithm=algorithm)
        assert found.units == () and found.rate == 0 and str(found) == ""


@pytest.mark.parametrize(
    ("offsets", "lengths", "options"),
    [
        ([1, 2], [1], {}),
        ([1], [-1], {}),
        (["a"], [1], {}),
        ([2**63], [1], {}),
        ([1], [1], {"algorithm": "fft"}),
        ([1], [1], {"algorithm": "he2013", "window": 0}),
    ],
)
def test_what_is_refused_is_said_in_one_line(offsets, lengths, options) -> None:
    with pytest.raises(Error) as refused:
        patterns.recognise(offsets, lengths, **options)
    assert "\n" not in str(refused.value)
