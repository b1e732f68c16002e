"""The report's section of what `iotune verify` says."""

from __future__ import annotations

from iotune.html_report import gather, page_of
from iotune.traces.trace import open_trace
from iotune.verify import FileVerdict, SiteConflicts, Verdicts, Violation
from iotune.verify.conflicts import Conflicts, FileConflicts, Place
from iotune.verify.verdicts import Unknown
from support.installed.page import Element, parsed, sections, table_of
from support.repository import TESTS

NEWEST = max((TESTS / "data").glob("v*"), key=lambda one: int(one.name[1:]))
HDF5 = NEWEST / "four-ranks-hdf5.iotrace"


def verdicts(order_recorded: bool) -> Verdicts:
    """Of a file that two ranks write in the same place, which commit and session do not show."""
    places = tuple(
        Place(0, rank, rank, "pwrite", rank == 0, 8 * rank, 16, False, False, False, rank)
        for rank in (0, 1)
    )
    site = SiteConflicts("write-read", 12_345, 1, "pwrite", "pread", (places[0], places[1]))
    file = FileConflicts("/d/<a>.bin", (), 2, (0, 1), 12_345, (site,), 0)
    wrong = [
        Violation(model, "write-read", "pwrite", "pread", 7, 12_345, missing,
                  (places[0], places[1]))
        for model, missing in (("commit", "a sync of rank 0"), ("session", "an open by rank 1"))
    ]  # fmt: skip
    counts = {"posix": 0, "commit": 7, "session": 7, "mpiio": 0}
    said = FileVerdict(file.path, file.pairs, counts, tuple(wrong))
    conflicts = Conflicts(2, (file,), 0)
    return Verdicts(conflicts, order_recorded, (said,), (Unknown("a window", 3, 0),))


def with_verdicts(found: Verdicts | None) -> dict[str, Element]:
    facts = gather(open_trace(HDF5))
    facts.verdicts = found
    return sections(parsed(page_of([facts], ["a"])))


def test_what_models_say_of_the_same_bytes_is_drawn() -> None:
    section = with_verdicts(verdicts(order_recorded=True))["order"]
    (figure,) = section.all("figure")
    cells = [one.text for one in figure.all("text", class_="owner")]
    assert cells == ["right", "7 of 12.3k not", "7 of 12.3k not", "right"]
    assert [len(figure.all("rect", class_=one)) for one in ("right", "wrong", "unknown")] == [
        2, 2, 0,
    ]  # fmt: skip
    assert table_of(figure, "Conflicts by file")[1] == [
        *("/d/<a>.bin", "ranks 0-1", "12,345"),
        *("0", "7", "7", "0"),
    ]
    assert "not all are properly synchronised under commit, session" in figure.text
    for said in (
        "not synchronised under commit, session: 7 of 12,345 write-read pairs, by pwrite",
        "rank 0 writes 16 bytes at 0, then rank 1 reads 16 bytes at 8",
        *("a sync of rank 0", "an open by rank 1", "a window (3 times): it counts as no order"),
    ):
        assert said in section.text


def test_without_order_what_models_say_is_unknown() -> None:
    section = with_verdicts(verdicts(order_recorded=False))["order"]
    assert [one.text for one in section.all("text", class_="owner")] == 4 * ["unknown"]
    assert "iotune run --order records" in section.text and "not synchronised" not in section.text
    assert "12,345 pairs, by pwrite and pread, such as rank 0 writes" in section.text
    assert "order" not in with_verdicts(None)
