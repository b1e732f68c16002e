"""iotune.patterns with arrays: the index against a model, the log lossless, predictors alike."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iotune import Error, patterns

LARGEST = 2**63 - 1


@pytest.mark.parametrize("module", ["index", "pattern_log", "predict", "recognise"])
def test_the_docstrings_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"iotune.patterns.{module}")).failed == 0


# Sequences


@st.composite
def loops(draw: st.DrawFn, reach: int = 400) -> list[tuple[int, int]]:
    """A loop in a loop: strides that are zero or negative too, lengths that change."""
    start = draw(st.integers(0, reach))
    outer, inner = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    strides = [draw(st.integers(-40, 60)) for _ in range(2)]
    length, growth = draw(st.integers(0, 24)), draw(st.integers(0, 3))
    made = []
    for i in range(outer):
        for k in range(inner):
            made.append((max(0, start + i * strides[0] + k * strides[1]), length + growth * k))
    return made


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Loops, and single accesses between them."""
    one = st.tuples(st.integers(0, 600), st.integers(0, 30)).map(lambda access: [access])
    parts = draw(st.lists(st.one_of(loops(), one), min_size=1, max_size=4))
    return [access for part in parts for access in part]


def columns(accesses: list[tuple[int, int]]) -> tuple[Any, Any]:
    both = np.array(accesses, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]  # strided views: what users have


# The index


class Model:
    """Every byte of the file by itself."""

    def __init__(self) -> None:
        self.bytes: dict[int, tuple[tuple[int, int, int], int]] = {}
        self.ends: dict[int, tuple[int, int]] = {}
        self.clock = 0

    def add(
        self,
        stream: int,
        accesses: list[tuple[int, int]],
        times: list[int] | None,
        physical: list[int] | None,
    ) -> None:
        self.clock += times is None
        for at, (offset, length) in enumerate(accesses):
            time = self.clock if times is None else times[at]
            self.clock = max(self.clock, time)
            position, end = self.ends.get(stream, (0, 0))
            place = end if physical is None else physical[at]
            order = (time, stream, position)
            for byte in range(length):
                if offset + byte not in self.bytes or self.bytes[offset + byte][0] < order:
                    self.bytes[offset + byte] = (order, place + byte)
            self.ends[stream] = (position + 1, max(end, place + length) if length else end)

    def at(self, offset: int) -> tuple[int, int, int]:
        """Stream, position, physical offset; -1 where nobody wrote."""
        if offset not in self.bytes:
            return -1, 0, 0
        (_, stream, position), physical = self.bytes[offset]
        return stream, position, physical


@st.composite
def filled(draw: st.DrawFn) -> tuple[patterns.IndexBuilder, Model]:
    """The same batches in both: with times of all, of the ends, or none; some with places."""
    builder, model = patterns.IndexBuilder(), Model()
    clock = 0
    with_places = {stream: draw(st.booleans()) for stream in range(3)}
    for _ in range(draw(st.integers(1, 5))):
        stream = draw(st.integers(0, 2))
        accesses = draw(sequences())
        offsets, lengths = columns(accesses)
        physical = None
        if with_places[stream]:
            _, end = model.ends.get(stream, (0, 0))
            physical = [end + 7 * at for at in range(len(accesses))]
        kind = draw(st.sampled_from(["none", "each", "ends"]))
        times: list[int] | None = None
        given_times: Any = None
        clock = max(clock, model.clock)
        if kind != "none":
            steps = [draw(st.integers(0, 9)) for _ in accesses]
            times = [clock + sum(steps[: at + 1]) for at in range(len(steps))]
            given_times = np.array(times)
            if kind == "ends":
                first, last, count = times[0], times[-1], max(1, len(times) - 1)
                times = [first + (last - first) * at // count for at in range(len(times))]
                given_times = (first, times[-1])
            clock = times[-1]
        builder.add(stream, offsets, lengths, physical, given_times)
        model.add(stream, accesses, times, physical)
    return builder, model


@given(filled())
@settings(max_examples=50, deadline=None)
def test_the_index_answers_as_byte_by_byte(both: tuple[patterns.IndexBuilder, Model]) -> None:
    builder, model = both
    index = builder.build()
    end = max(model.bytes, default=-1) + 1
    assert index.end == end
    for one in (index, patterns.read_index(index.to_bytes())):
        asked = np.arange(end + 3)
        found = one.at(asked)
        assert found.offset.tolist() == asked.tolist()
        for offset, length, stream, position, physical in found:
            assert (stream, position, physical) == model.at(offset)
            assert length > 0
            if offset + length > end:
                assert stream == -1 and offset + length == LARGEST
                continue
            # As far as it says, and no further: behind it lies something else.
            for byte in range(1, length):
                expected = model.at(offset + byte)
                moved = physical + byte if stream >= 0 else 0
                assert expected == (stream, position, moved)
            assert model.at(offset + length)[:2] != (stream, position) or stream == -1
        whole = one.pieces(0, end)
        assert sum(whole.length.tolist()) == end
        assert whole.hole.tolist() == [row[2] == -1 for row in whole]
    for stream, reached in model.ends.items():
        assert index.stream_end(stream) == reached


def test_ranks_are_one_nest_and_appended_blocks_join() -> None:
    parts = []
    for rank in range(16):
        builder = patterns.IndexBuilder()
        k = np.arange(1000)
        builder.add(0, (k * 16 + rank) * 64, np.full(1000, 64), times=(10 * rank, 10 * rank + 5))
        builder.set_name(0, f"dropping.{rank}")
        parts.append(builder.build())
    whole = patterns.IndexBuilder()
    for rank, part in enumerate(parts):
        whole.add_index(part, rank)
    index = whole.build()
    assert (index.nests, index.segments, index.streams, index.contested) == (1, 0, 16, False)
    assert index.stream_name(7) == "dropping.7" and index.memory_bytes < 10_000
    assert list(index.at([64 * 21 + 5])) == [(64 * 21 + 5, 59, 5, 1, 64 + 5)]
    assert index.time_of(3, 0) == 30
    again = patterns.IndexBuilder()
    again.begin_at(0, 1000, 64000)
    again.add(0, [16 * 64 * 1000], [64])
    (piece,) = again.build().pieces(16 * 64 * 1000, 64)
    assert piece == (16 * 64 * 1000, 64, 0, 1000, 64000)


def test_damaged_index_files_are_refused_by_name(tmp_path: Path) -> None:
    builder = patterns.IndexBuilder()
    builder.add(0, range(0, 800, 8), [4] * 100)
    content = builder.build().to_bytes()
    path = tmp_path / "file.index"
    flipped = content[:40] + bytes([content[40] ^ 0x55]) + content[41:]
    for damaged in (b"", content[:-1], b"x" + content[1:], flipped):
        path.write_bytes(damaged)
        with pytest.raises(Error, match="file.index: ") as refused:
            patterns.read_index(path)
        assert "\n" not in str(refused.value)
    path.write_bytes(content[:-1])
    assert patterns.read_index(path, allow_damage=True).end == 0
    with pytest.raises(Error, match="no such|No such"):
        patterns.read_index(tmp_path / "none")


# The log


@given(
    st.lists(
        st.tuples(st.integers(-(2**40), 2**40), st.sampled_from(["a", "b/ö", ""]), sequences()),
        max_size=6,
    ),
    st.integers(1, 64),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_log_gives_back_what_was_put_in(
    streams: list[tuple[int, str, list[tuple[int, int]]]], leaves: int, in_pieces: bool
) -> None:
    writer = patterns.PatternLogWriter(leaves)
    for rank, name, accesses in streams:
        number = writer.add_stream(rank, name)
        cut = len(accesses) // 2 if in_pieces else 0
        for part in (accesses[:cut], accesses[cut:]):
            writer.add(number, *columns(part))
        if in_pieces:
            writer.end_stream(number)
    log = patterns.PatternLog(writer.finish())
    assert [(one.rank, one.name) for one in log.streams] == [row[:2] for row in streams]
    for number, (_, _, accesses) in enumerate(streams):
        offsets, lengths = log.accesses(number)
        assert list(zip(offsets.tolist(), lengths.tolist())) == accesses
        physical = [row for batch in log.batches(number, 7) for row in batch[2].tolist()]
        assert physical == np.cumsum([0, *(length for _, length in accesses)])[:-1].tolist()


@given(st.lists(st.tuples(st.integers(-(2**63), LARGEST), st.integers(0, LARGEST)), max_size=40))
@settings(max_examples=30, deadline=None)
def test_the_log_takes_any_numbers(accesses: list[tuple[int, int]]) -> None:
    writer = patterns.PatternLogWriter()
    writer.add(
        writer.add_stream(0, "x"), *columns(accesses), physical=[-k for k, _ in enumerate(accesses)]
    )
    log = patterns.PatternLog(writer.finish())
    offsets, lengths = log.accesses(0)
    assert list(zip(offsets.tolist(), lengths.tolist())) == accesses
    places = [row for batch in log.batches(0) for row in batch[2].tolist()]
    assert places == [-k for k, _ in enumerate(accesses)]


def test_a_damaged_log_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run.patterns"
    path.write_bytes(b"\x17nonsense")
    with pytest.raises(Error, match="run.patterns is no pattern log"):
        patterns.PatternLog(path)
    with pytest.raises(Error, match="run.none: "):
        patterns.PatternLog(tmp_path / "run.none")


# Predictors


@pytest.mark.parametrize("kind", patterns.PREDICTORS)
@given(accesses=sequences(), count=st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_every_predictor_keeps_its_word(
    kind: str, accesses: list[tuple[int, int]], count: int
) -> None:
    earlier = patterns.record_plan(*columns(accesses)) if kind == "recorded" else b""
    whole, stepwise = (patterns.Predictor(kind, earlier=earlier) for _ in range(2))
    right = whole.observe(*columns(accesses))
    assert right.dtype == bool and right.shape == (len(accesses),)
    for at, (offset, length) in enumerate(accesses):
        said = [row[:2] for row in stepwise.predict(1)]
        assert right[at] == (said == [(offset, length)])
        stepwise.observe([offset], [length])
    next_ = whole.predict(count)
    assert len(next_) <= count and list(next_) == list(stepwise.predict(count))
    assert list(whole.predict(count)) == list(next_)  # asking changes nothing
    assert all(0 <= confidence <= 1 for confidence in next_.confidence)
    assert whole.state_bytes > 0
    if kind == "recorded":
        assert right.all() and len(next_) == 0


def test_nests_are_predicted_and_the_papers_example() -> None:
    offsets = [100_000 * z + 1000 * y + 8 * x for z in range(9) for y in range(9) for x in range(9)]
    ours, strided = (patterns.Predictor(kind) for kind in ("nest", "stride"))
    hits = [one.observe(offsets, [8] * 729).sum() for one in (ours, strided)]
    assert hits[0] > 700 > hits[1]
    assert ours.state_bytes <= 1024
    unit = patterns.Predictor("unit")
    unit.observe([0, 3, 7, 14, 17, 21, 28], [2] * 7)
    assert unit.predict(3).offset.tolist() == [31, 35, 42]


# What cannot be


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: patterns.IndexBuilder().add(0, [1, 2], [1]),
        lambda: patterns.IndexBuilder().add(0, [1], [-1]),
        lambda: patterns.IndexBuilder().add(0, [-5], [1]),
        lambda: patterns.IndexBuilder().add(-1, [1], [1]),
        lambda: patterns.IndexBuilder().add(1 << 22, [1], [1]),
        lambda: patterns.IndexBuilder().add(1 << 40, [1], [1]),
        lambda: patterns.IndexBuilder().add(0, np.array([1.5]), [1]),
        lambda: patterns.IndexBuilder().add(0, [1, 2], [1, 1], times=[2, 1]),
        lambda: patterns.IndexBuilder().add(0, [1, 2], [1, 1], times=[2]),
        lambda: patterns.IndexBuilder().add(0, [1, 2], [1, 1], times=(5, 1)),
        lambda: patterns.IndexBuilder().add(0, [1, 2], [1, 1], physical=[1]),
        lambda: patterns.IndexBuilder(2).add(0, [k * k * 10 for k in range(9)], [1] * 9),
        lambda: patterns.IndexBuilder().build().at([-1]),
        lambda: patterns.IndexBuilder().build().pieces(-1, 4),
        lambda: patterns.IndexBuilder().build().stream_name(0),
        lambda: patterns.IndexBuilder().set_name(1 << 23, "x"),
        lambda: patterns.IndexBuilder().set_name(0, "\ud800"),
        lambda: built_of_two().time_of(0, 2),
        lambda: built_of_two().time_of(0, -1),
        lambda: patterns.recognise(np.array([1 << 63], dtype=np.uint64), [1]),
        lambda: patterns.PatternLogWriter().add_stream(1 << 70, "x"),
        lambda: patterns.PatternLogWriter().add_stream(0, 5),  # type: ignore[arg-type]
        lambda: patterns.PatternLogWriter().add(-1, [1], [1]),
        lambda: patterns.Predictor("oracle"),
        lambda: patterns.Predictor("markov", block_bytes=0),
        lambda: patterns.Predictor("markov", earlier=b"nonsense"),
        lambda: patterns.Predictor().predict(-1),
        lambda: patterns.Predictor().observe([1], []),
        lambda: patterns.PatternLogWriter(0),
        lambda: patterns.PatternLogWriter().add(0, [1], [1]),
        lambda: patterns.PatternLog(b""),
        lambda: patterns.PatternLog(b"\xb1").accesses(3),
        lambda: patterns.record_plan([1], [1, 2]),
    ],
)
def test_what_is_refused_is_said_in_one_line(wrong: Callable[[], object]) -> None:
    with pytest.raises(Error) as refused:
        wrong()
    assert "\n" not in str(refused.value)


def built_of_two() -> patterns.OffsetIndex:
    builder = patterns.IndexBuilder()
    builder.add(0, np.array([0, 8], dtype=np.uint64), [8, 8])
    return builder.build()


def test_names_are_any_bytes() -> None:
    """As of files: os.fsdecode's surrogates come back."""
    name = "/data/\udcff\u00e4"
    writer = patterns.PatternLogWriter()
    writer.add_stream(0, name)
    assert patterns.PatternLog(writer.finish()).streams[0].name == name
    builder = patterns.IndexBuilder()
    builder.add(0, [0], [8])
    builder.set_name(0, name)
    assert patterns.read_index(builder.build().to_bytes()).stream_name(0) == name


def test_a_finished_log_and_an_ended_stream_take_nothing_more() -> None:
    writer = patterns.PatternLogWriter()
    stream = writer.add_stream(0, "x")
    writer.end_stream(stream)
    with pytest.raises(Error, match="has ended"):
        writer.add(stream, [1], [1])
    writer.finish()
    with pytest.raises(Error, match="finished"):
        writer.add_stream(0, "y")
