"""Ranks of two builds talk only where the sources that talk are the same ones."""

from __future__ import annotations

import re

from support.repository import ROOT

# Calls through MpiApi that send, receive or agree; agreement.h's own functions.
TALKS = re.compile(
    r"(?:\.|->)MPI_(?:Bcast|Allreduce|Reduce|Gather|Allgather|Send|Recv|Sendrecv|Scatter)\("
    r"|\b(?:all_agree|receive_decision|decline)\("
)
ROOMS = ("core", "recorder", "prefetch", "logstore", "tuner")


def test_every_source_that_talks_makes_the_number() -> None:
    text = (ROOT / "core/CMakeLists.txt").read_text()
    listed = set(re.search(r"set\(protocol\n(.*?)\)", text, re.DOTALL)[1].split())  # type: ignore[index]
    talking = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.cpp")
        if TALKS.search(path.read_text())
    }
    assert talking and talking <= listed, talking - listed
    assert all((ROOT / path).is_file() for path in listed)
