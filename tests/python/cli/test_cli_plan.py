"""Plans for the replayer: from calls, from patterns, and as text."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from iotune.errors import Error
from iotune.replay.plan import (
    PLAIN,
    Dataset,
    Form,
    Plan,
    PlanFile,
    Selection,
    Transfer,
    fold_repeats,
    plan_text,
)
from iotune.replay.plan_build import (
    DatasetCall,
    FileOpen,
    StoredPattern,
    plan_bytes,
    plan_of_calls,
    plan_of_pattern,
)
from iotune.replay.plan_trace import _Defined, _definition, _name_all, _selection
from iotune.traces.calls import Call


def call(rank: int, start: float, row: int, **more: object) -> DatasetCall:
    fields: dict[str, object] = {
        "rank": rank, "start": start, "file": "/tmp/a.h5", "dataset": "/x", "element_bytes": 4,
        "dims": (100, 8), "chunk": (), "deflate": False, "write": True, "collective": True,
        "selection": Selection("slab", ((row, 0, 1, 1, 1, 8, 1, 1),)),
    }  # fmt: skip
    return DatasetCall(**{**fields, **more})  # type: ignore[arg-type]


def elements(selection: Selection, ndims: int) -> Counter[tuple[int, ...]]:
    """Every element that a selection of slabs holds, and how often."""
    found: Counter[tuple[int, ...]] = Counter()
    for slab in selection.items:
        start, stride, count, block = (slab[at * ndims : (at + 1) * ndims] for at in range(4))
        axes = [
            [start[d] + stride[d] * c + b for c in range(count[d]) for b in range(block[d])]
            for d in range(ndims)
        ]
        found.update(itertools.product(*axes))
    return found


def test_two_ranks_calls_become_one_transfer() -> None:
    # given
    calls = [call(0, 1.0, 0), call(1, 1.1, 50)]
    # when
    plan = plan_of_calls(calls, [FileOpen(0, 0.5, "/tmp/a.h5", True)], 2)
    # then
    assert plan_text(plan) == (
        "iotune-plan 1\nranks 2\nfile /tmp/a.h5 create\ndataset 0 /x 4 2 100 8\n"
        "transfer write 0 collective\nslab 0  0 0 1 1 1 8 1 1\nslab 1  50 0 1 1 1 8 1 1\nclose\n"
    )


def test_a_dataset_that_grew_after_its_creation_holds_what_was_written() -> None:
    # given two ranks that write into a dataset that was created empty, or was smaller
    calls = [call(0, 1.0, 0, dims=(0, 8)), call(1, 1.1, 50, dims=(0, 8)),
             call(0, 1.2, 0, dataset="/p", dims=(1, 1),
                  selection=Selection("points", ((2, 9),)))]  # fmt: skip
    # when
    plan = plan_of_calls(calls, [FileOpen(0, 0.5, "/tmp/a.h5", True)], 2)
    # then
    assert [tuple(d.dims) for d in plan.files[0].datasets] == [(51, 8), (3, 10)]


def test_rows_written_one_by_one_become_one_statement() -> None:
    # given two ranks that write fifty rows each, row after row
    calls = [call(r, i + 0.1 * r, 50 * r + i) for i in range(50) for r in (0, 1)]
    # when
    plan = plan_of_calls(calls, [], 2)
    # then
    (transfer,) = plan.files[0].transfers
    assert (transfer.repeat, transfer.shift) == (50, (1, 0))
    assert transfer.last()[1].items[0][0] == 99


def test_a_step_that_changes_ends_a_repetition() -> None:
    rows = [0, 1, 2, 10, 11]
    plan = plan_of_calls([call(0, i, row) for i, row in enumerate(rows)], [], 1)
    assert [(one.repeat, one.shift) for one in plan.files[0].transfers] == [
        (3, (1, 0)),
        (2, (1, 0)),
    ]


def test_what_one_call_moved_stays_one_call() -> None:
    # given two ranks that write two datasets by each of three calls
    calls = [
        call(r, i, 50 * r + i, dataset=name, multi=multi)
        for i in range(3) for r in (0, 1) for name, multi in (("/x", 2), ("/y", -1))
    ]  # fmt: skip
    # when
    plan = plan_of_calls(calls, [], 2)
    # then
    transfers = plan.files[0].transfers
    assert [(one.dataset, one.multi) for one in transfers] == 3 * [(0, 2), (1, 0)]
    assert plan_text(plan).count("multi 2\n") == 3
    # and where a rank's calls are others, all are alone
    calls[3:4] = [call(1, 0.5, 7, dataset="/y")]
    assert not any(one.multi for one in plan_of_calls(calls, [], 2).files[0].transfers[:2])


def test_forms_that_differ_are_not_folded() -> None:
    begun = Form(asynchronous=True)
    forms = [begun, begun, Form(asynchronous=True, waits=True), PLAIN, PLAIN]
    plan = plan_of_calls([call(0, i, i, form=form) for i, form in enumerate(forms)], [], 1)
    assert [one.repeat for one in plan.files[0].transfers] == [2, 1, 2]
    assert " collective async repeat 2 1 0\n" in plan_text(plan)
    assert " collective async wait\n" in plan_text(plan)


def test_ranks_that_step_differently_are_not_folded() -> None:
    # given rank 1 two rows at a time
    calls = [call(r, i, 50 * r + i * (1 + r)) for i in range(3) for r in (0, 1)]
    # then
    assert len(plan_of_calls(calls, [], 2).files[0].transfers) == 3


def test_folding_leaves_its_input_alone() -> None:
    transfers = [
        Transfer(True, 0, False, {0: Selection("slab", ((i, 1, 1, 1),))}) for i in range(4)
    ]
    first = fold_repeats(transfers)
    assert fold_repeats(transfers) == first
    assert first[0].repeat == 4


def test_a_second_open_begins_a_second_part() -> None:
    # given a file that is written, closed, opened and read
    opens = [FileOpen(r, at, "/tmp/a.h5", at == 0) for at in (0, 5) for r in (0, 1)]
    calls = [call(r, 1 + r, 50 * r) for r in (0, 1)]
    calls += [call(r, 6 + r, 50 * r, write=False) for r in (0, 1)]
    # when
    plan = plan_of_calls(calls, opens, 2)
    # then
    assert [(file.create, file.transfers[0].write) for file in plan.files] == [
        (True, True),
        (False, False),
    ]
    assert not plan.prepares


def test_a_file_that_is_only_read_is_prepared() -> None:
    plan = plan_of_calls([call(0, 1, 0, write=False)], [FileOpen(0, 0, "/tmp/a.h5", False)], 1)
    assert plan.prepares


def test_one_file_of_a_run_may_be_chosen() -> None:
    calls = [call(0, 1, 0), call(0, 2, 0, file="/tmp/b.h5")]
    assert [one.path for one in plan_of_calls(calls, [], 1, ["/tmp/b.h5"]).files] == ["/tmp/b.h5"]
    with pytest.raises(Error, match=r"on /tmp/c\.h5"):
        plan_of_calls(calls, [], 1, ["/tmp/c.h5"])


def test_names_are_quoted_as_the_format_asks() -> None:
    plan = Plan(1, [PlanFile("/a b%/#c.h5", True, [Dataset("/Step#0/x y", 4, ())],
                             [Transfer(True, 0, False, {0: Selection("all")})])])  # fmt: skip
    text = plan_text(plan)
    assert "file /a%20b%25/%23c.h5 create" in text
    assert "dataset 0 /Step%230/x%20y 4 0\n" in text


@pytest.mark.parametrize(
    ("names", "counts", "grid", "dims"),
    [
        (("BLOCK",), (7,), (3,), (21,)),
        (("BLOCK",), (7,), (3,), (17,)),  # the last block is uneven
        (("BLOCK", "*"), (6, 24), (4, 1), (24, 24)),
        (("*", "BLOCK"), (5, 3), (1, 2), (5, 6)),
        (("CYCLIC",), (4,), (3,), (11,)),
        (("CYCLIC(4)",), (8,), (2,), (15,)),
        (("CYCLIC(4)", "BLOCK", "CYCLIC"), (6, 2, 2), (2, 2, 2), (10, 3, 3)),
        (("BLOCK",), (4,), (5,), (16,)),  # the last rank holds nothing
    ],
)
def test_a_synthesised_pattern_covers_the_dataset_once(
    names: tuple[str, ...], counts: tuple[int, ...], grid: tuple[int, ...], dims: tuple[int, ...]
) -> None:
    # given
    ranks = 1
    for parts in grid:
        ranks *= parts
    # when
    plan = plan_of_pattern(StoredPattern(True, names, counts, grid, dims, 8, ranks, True))
    # then
    found: Counter[tuple[int, ...]] = Counter()
    for selection in plan.files[0].transfers[0].selections.values():
        found.update(elements(selection, len(dims)))
    assert found == Counter(itertools.product(*(range(extent) for extent in dims)))
    assert plan_bytes(plan) == 8 * len(found)


def test_an_irregular_pattern_without_its_trace_is_an_error() -> None:
    with pytest.raises(Error, match="IRREGULAR"):
        plan_of_pattern(StoredPattern(True, ("IRREGULAR",), (5,), (2,), (10,), 8, 2, True))


@pytest.mark.parametrize(
    ("reported", "expected", "exact"),
    [
        ({"kind": "none"}, Selection("none"), True),
        ({"kind": "all", "dims": [24, 24]}, Selection("all"), True),
        (
            {"kind": "regular", "start": [3], "stride": [2], "count": [5], "block": [1]},
            Selection("slab", ((3, 2, 5, 1),)),
            True,
        ),
        (
            {"kind": "blocks", "first": [[0], [8]], "last": [[4], [9]]},
            Selection("slab", ((0, 1, 5, 1), (8, 1, 2, 1))),
            True,
        ),
        (
            {"kind": "points", "points": [[1, 2], [3, 4]]},
            Selection("points", ((1, 2), (3, 4))),
            True,
        ),
        (
            {"kind": "bounds", "first": [0, 0], "last": [3, 5]},
            Selection("slab", ((0, 0, 1, 1, 4, 6, 1, 1),)),
            False,
        ),
        ({"kind": "unknown"}, None, True),
    ],
)
def test_every_kind_of_recorded_selection_is_read(
    reported: dict[str, Any], expected: Selection | None, exact: bool
) -> None:
    assert _selection(reported) == (expected, exact)


def test_a_dataset_s_definition_is_read() -> None:
    defined = _definition(
        Call(0, 1, 0, 0.0, 0.0, "exact", "iotune", 0, "iotune_dataset", "", keys=(7,),
             numbers=(83, 8, 1, 2, 1, 2, 24, 12, 2, 6, 12), texts=("/tmp/a.h5", "/x"))
    )  # fmt: skip
    assert (defined.file, defined.path, defined.element_bytes) == ("/tmp/a.h5", "/x", 8)
    assert (defined.dims, defined.chunk, defined.filters) == ((24, 12), (6, 12), 1)
    assert defined.address == -1  # earlier builds did not tell


def test_a_dataset_with_several_names_is_planned_as_one() -> None:
    def one(path: str, address: int, dims: tuple[int, ...] = (4,)) -> _Defined:
        return _Defined("/tmp/a.h5", path, 8, dims, (), 0, 1, address)

    defined = {
        (0, 1): one("/x", 800), (0, 2): one("/also x", 800), (0, 3): one("/y", 900),
        (0, 4): one("/later there", 800, (5,)), (0, 5): one("/z", -1), (0, 6): one("", -1),
        (1, 1): one("/also x", 800),
    }  # fmt: skip
    _name_all(defined)
    assert [one.path for one in defined.values()] == [
        "/x", "/x", "/y", "/later there", "/z", "/unnamed_1", "/also x",
    ]  # fmt: skip
