"""Every call that Recorder or Darshan wraps is recorded, or left out with a reason."""

from __future__ import annotations

from pathlib import Path

from support.generators import LEFT_OUT, read_table
from support.repository import CALLS_TABLE


def peers() -> set[str]:
    lines = Path(__file__).with_name("peer_calls.txt").read_text().splitlines()
    listed = [line.partition(":")[2] for line in lines if not line.startswith("#")]
    return {name for names in listed for name in names.split()}


def test_what_peers_wrap_is_recorded_or_left_out_with_a_reason() -> None:
    calls = read_table(CALLS_TABLE)
    recorded = {name for call in calls for name in (call.name, *call.aliases)}
    left_out = {name for names in LEFT_OUT.values() for name in names.split()}
    assert peers() - recorded - left_out == set()
    assert left_out & recorded == set()
