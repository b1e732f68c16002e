"""Ranks of two builds exchange messages only if all sources that do so are the same."""

from __future__ import annotations

import re

from support.repository import ROOT

# Calls through MpiApi that send, receive or agree; agreement.h's own functions.
SENDS = re.compile(
    r"(?:\.|->)MPI_(?:Bcast|Allreduce|Reduce|Gather|Allgather|Send|Recv|Sendrecv|Scatter)\("
    r"|\b(?:all_agree|receive_decision|decline)\("
)
ROOMS = ("core", "recorder", "prefetch", "logstore", "gather", "tuner")


def test_every_source_that_sends_is_in_the_version() -> None:
    text = (ROOT / "core/CMakeLists.txt").read_text()
    listed = set(re.search(r"set\(protocol\n(.*?)\)", text, re.DOTALL)[1].split())  # type: ignore[index]
    sending = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.cpp")
        if SENDS.search(path.read_text())
    }
    assert sending and sending <= listed, sending - listed
    assert all((ROOT / path).is_file() for path in listed)
