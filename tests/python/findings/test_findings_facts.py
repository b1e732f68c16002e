"""What findings count: against plain loops over the same accesses."""

from __future__ import annotations

import fnmatch
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iotune.findings import covered as covered_module
from iotune.findings import datasets as datasets_module
from iotune.findings import findings_of
from iotune.findings.covered import Covered
from iotune.findings.properties import is_property_call
from iotune.findings.streams import StreamReader
from iotune.reports.tables import ranks_text
from iotune.traces.call_meaning import meanings
from iotune.traces.selections import chunks_of, runs_of
from support.installed.import_logs import imported

EXTENTS = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 30)), min_size=1, max_size=40)


@given(EXTENTS, st.integers(1, 7))
def test_a_union_has_the_bytes_that_were_touched(extents: list, batch: int) -> None:
    union = Covered()
    for at in range(0, len(extents), batch):
        part = np.array(extents[at : at + batch], dtype=np.int64)
        union.add(part[:, 0], part[:, 1])
    touched = {byte for at, size in extents for byte in range(at, at + size)}
    assert union.bytes == len(touched)
    begins, ends = union.pieces()
    assert {b for x, y in zip(begins, ends) for b in range(x, y)} == touched
    assert (begins[1:] > ends[:-1]).all()


def test_a_union_of_too_many_pieces_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(covered_module, "MOST_PIECES", 10)
    union = Covered()
    union.add(np.arange(11, dtype=np.int64) * 2, np.ones(11, dtype=np.int64))
    assert union.bytes is None
    union.add(np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))
    assert union.bytes is None


@st.composite
def hyperslabs(draw) -> tuple:
    dims, parts = [], []
    for _ in range(draw(st.integers(1, 3))):
        start, count = draw(st.integers(0, 3)), draw(st.integers(1, 4))
        block = draw(st.integers(1, 3))
        stride = draw(st.integers(block, block + 3))
        parts.append((start, stride, count, block))
        dims.append(start + (count - 1) * stride + block + draw(st.integers(0, 2)))
    names = ("start", "stride", "count", "block")
    return dims, {"kind": "regular", **dict(zip(names, (list(one) for one in zip(*parts))))}


def elements(selection: dict) -> list[tuple[int, ...]]:
    parts = zip(*(selection[name] for name in ("start", "stride", "count", "block")))
    rows = [
        [start + k * stride + b for k in range(count) for b in range(block)]
        for start, stride, count, block in parts
    ]
    return list(itertools.product(*rows))


@given(hyperslabs())
def test_runs_are_those_of_the_elements(given_slab: tuple) -> None:
    dims, selection = given_slab
    places = sorted(int(np.ravel_multi_index(one, dims)) for one in elements(selection))
    counted = 1 + sum(b != a + 1 for a, b in zip(places, places[1:]))
    # Runs that touch only across the end of a row are counted apart.
    assert runs_of(selection, dims) >= counted
    rows = {one[:-1] for one in elements(selection)}
    assert runs_of(selection, dims) <= len(rows) * selection["count"][-1]


def test_runs_of_what_is_known() -> None:
    dims = [4, 6]
    slab = {"kind": "regular", "start": [0, 0], "stride": [1, 1], "count": [4, 6], "block": [1, 1]}
    assert runs_of({"kind": "all"}, dims) == runs_of(slab, dims) == 1
    assert runs_of({**slab, "count": [4, 3]}, dims) == 4
    assert runs_of({**slab, "count": [2, 6]}, dims) == 1
    assert runs_of({**slab, "count": [4, 3], "stride": [1, 2]}, dims) == 12
    assert runs_of({"kind": "points", "points": [[0, 1], [3, 2]]}, dims) == 2
    blocks = {"kind": "blocks", "first": [[0, 0], [2, 1]], "last": [[1, 5], [3, 2]]}
    assert runs_of(blocks, dims) == 3
    assert runs_of({"kind": "bounds", "first": [0, 0], "last": [3, 5]}, dims) == 0


@given(hyperslabs(), st.lists(st.integers(1, 4), min_size=3, max_size=3))
def test_chunks_are_those_of_the_elements(given_slab: tuple, sizes: list[int]) -> None:
    dims, selection = given_slab
    chunk = sizes[: len(dims)]
    wanted = {tuple(at // size for at, size in zip(one, chunk)) for one in elements(selection)}
    assert chunks_of(selection, dims, chunk, 10**6) == sorted(wanted)
    assert chunks_of(selection, dims, chunk, 0) is None


def test_streams_are_what_a_loop_counts(tmp_path: Path) -> None:
    """Ten thousand accesses of three ranks on two files, in an order of their own."""
    draw = random.Random(7)
    text = ["layer,rank,call,file,offset,length,start,duration\n"]
    made: dict[tuple, list] = {}
    at = dict.fromkeys(range(3), 0)
    for k in range(10_000):
        rank, name = draw.randrange(3), draw.choice(("a", "b"))
        call = draw.choice(("pread", "pwrite"))
        kind = draw.random()
        offset = at[rank] if kind < 0.5 else draw.randrange(1 << 20)
        size = draw.choice((8, 700, 4096, 5000, 70_000))
        at[rank] = offset + size
        made.setdefault((rank, name, call), []).append((offset, size))
        text.append(f"posix,{rank},{call},/data/{name},{offset},{size},{k * 1e-4:.6f},0.000010\n")
    log = tmp_path / "log.csv"
    log.write_text("".join(text))
    trace, _ = imported(log, tmp_path)
    ranks = [int(one) for one in trace.processes["rank"]]
    reader = StreamReader(trace.path, ranks)
    found = {
        (one.rank, one.file[-1], one.call): one for one in reader.streams if one.meaning.transfer
    }
    assert sorted(found) == sorted(made)
    for key, accesses in made.items():
        one = found[key]
        assert (one.calls, one.bytes) == (len(accesses), sum(size for _, size in accesses))
        assert abs(one.seconds - len(accesses) * 1e-5) < 1e-3
        small = [size for _, size in accesses if size < 4096]
        assert one.below(4096)[:2] == (len(small), sum(small))
        follows = irregular = uneven = 0
        last: tuple | None = None
        step = None
        for offset, size in accesses:
            uneven += size >= 4096 and bool(offset % 4096 or (offset + size) % 4096)
            if last is not None:
                here = offset - last[0]
                joins = offset == last[0] + last[1]
                follows += joins
                irregular += not joins and step is not None and here != step
                step = here
            last = (offset, size)
        assert (one.consecutive, one.irregular, one.misaligned) == (follows, irregular, uneven)
        assert one.begin == min(offset for offset, _ in accesses)
        assert one.end == max(offset + size for offset, size in accesses)
        touched = np.zeros(1 << 21, dtype=bool)
        for offset, size in accesses:
            touched[offset : offset + size] = True
        process = ranks.index(key[0])
        assert reader.covered[f"/data/{key[1]}", key[2] == "pwrite", process].bytes == touched.sum()


@pytest.mark.parametrize("transfers", [True, False])
def test_few_patterns_name_the_calls_that_are_wanted(transfers: bool) -> None:
    patterns = datasets_module._wanted(transfers).names
    assert len(patterns) < 16
    for one in meanings().values():
        if one.of_hdf5:
            wanted = is_property_call(one) or (transfers and one.transfer)
            assert any(fnmatch.fnmatchcase(one.name, p) for p in patterns) == wanted, one.name


def test_ranks_are_written_as_people_do() -> None:
    assert ranks_text(()) == ""
    assert ranks_text((3,)) == "rank 3"
    assert ranks_text((0, 1, 2, 3)) == "ranks 0-3"
    assert ranks_text((0, 2, 4, 5)) == "ranks 0,2,4-5"
    assert ranks_text(tuple(range(0, 100, 2))) == "50 ranks from 0 to 98"


@pytest.mark.parametrize("array", ["array.zarr", "plain"])
def test_zarrs_chunks_are_files_of_which_there_should_be_fewer(array: str, tmp_path: Path) -> None:
    # given a process that writes 200 small files, of an array of zarr or its own
    log = tmp_path / "log.csv"
    named = [".zarray.12.partial" if array.endswith("zarr") else "head"]
    named += [f"{number}.0" for number in range(200)]
    lines = [f"0,/d/{array}/{name},write,0,100,{at},{at}.1" for at, name in enumerate(named)]
    log.write_text("\n".join(["rank,file,op,offset,length,start,end", *lines, ""]))
    # when
    (found,) = findings_of(imported(log, tmp_path)[0]).findings
    # then the advice is about what makes them, without lines for programs of MPI and HDF5
    assert found.id == "small-files"
    assert ("shards=" in found.advice) is array.endswith("zarr")
    assert ("HDF5" in found.advice) is not array.endswith("zarr")
    assert (found.snippets == ()) is array.endswith("zarr")


def test_fills_are_found_in_logs_without_hdf5(tmp_path: Path) -> None:
    # given 2 MiB that rank 0 writes at once, and then four ranks in turn
    block, blocks = 65536, 32
    lines = ["rank,file,op,offset,length,start,end",
             f"0,/f.nc,write,4096,{blocks * block},0.1,0.4"]  # fmt: skip
    for at in range(blocks):
        lines.append(f"{at % 4},/f.nc,write,{4096 + at * block},{block},{at + 1}.0,{at + 1}.5")
    log = tmp_path / "log.csv"
    log.write_text("\n".join([*lines, ""]))
    # when
    trace, _ = imported(log, tmp_path)
    # then
    [array] = trace.summary.files[0].datasets
    assert (array.descriptor, array.filled_bytes) == (
        f"<1D,(CYCLIC({block})),({blocks * block // 4})>", blocks * block,
    )  # fmt: skip
    [fill] = [one for one in findings_of(trace).findings if one.id == "fill-values"]
    assert fill.summary == "2.0 MiB of fill values are written first"
    # and without the first write there is none
    log.write_text("\n".join([lines[0], *lines[2:], ""]))
    trace.path.unlink()
    trace, _ = imported(log, tmp_path)
    assert "fill-values" not in [one.id for one in findings_of(trace).findings]


@pytest.mark.parametrize("written", [0, 8])
def test_syncs_of_a_file_that_nobody_was_seen_to_write_are_no_finding(
    tmp_path: Path, written: int
) -> None:
    """What libc does not see may be much: a mapping, io_uring, libaio."""
    text = ["layer,rank,call,file,offset,length,start,duration\n"]
    text.append("posix,0,pwrite,/data/other,0,8,0.000,0.001\n")
    for k in range(40):
        if written:
            text.append(f"posix,0,pwrite,/data/a,{8 * k},{written},{k}.000,0.001\n")
        text.append(f"posix,0,fsync,/data/a,,,{k}.100,0.010\n")
    log = tmp_path / "log.csv"
    log.write_text("".join(text))
    trace, _ = imported(log, tmp_path)
    found = [one.id for one in findings_of(trace).findings]
    assert ("many-syncs" in found) == bool(written)
