"""What `iotune explain` says of writes that waited."""

from iotune.reports.explained import gathered_lines, is_explained
from iotune.traces.summary import FilePattern, GatherOutcome


def test_what_waited_and_how_it_went_out() -> None:
    done = GatherOutcome(
        ranks=2, held_calls=1000, held_bytes=8000, reads_served=3, flushes=2, exchange_calls=1,
        exchange_bytes=6000, piece_writes=4, piece_bytes=1500, alone_writes=1, alone_bytes=300,
        waiting_bytes=200, not_held={"in atomic mode": 7},
    )  # fmt: skip
    first, *ways, why = gathered_lines(done)
    assert first.startswith("1000 writes (")
    assert first.endswith("bytes went out at 2 collective calls, 3 reads served from them")
    assert [way.split(" ", 2)[2] for way in ways] == [
        "exchanged in 1 collective write",
        "piece by piece in 4 writes",
        "by a rank alone in 1 write",
        "at the end of the run",
    ]
    assert why == "7 writes not held: in atomic mode"


def test_a_file_that_is_not_gathered_is_explained() -> None:
    refused = GatherOutcome(not_held={"it was opened with MPI_MODE_APPEND": 0})
    assert gathered_lines(refused) == ("not gathered: it was opened with MPI_MODE_APPEND",)
    assert is_explained(FilePattern(path="/x", gather=refused))
