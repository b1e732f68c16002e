"""Traces that were kept, of every version of the format, say today what they said then."""

from __future__ import annotations

from pathlib import Path

import pytest

import iotune
from support.installed import kept_traces
from support.repository import ROOT

# A ring names functions by their place in the table of calls of the iotune that wrote it.
OTHER_TABLE = "were recorded by another version of iotune: left out"


def present_version() -> str:
    source = (ROOT / "recorder" / "format.h").read_text()
    return "v" + source.split("kFormatVersion = ")[1].split(";")[0]


def test_the_present_version_is_kept() -> None:
    names = [one.name for one in kept_traces.kept(kept_traces.DATA / present_version())]
    assert names == [
        *("four-ranks-hdf5.iotrace", "killed.iobuf.gz"),
        *("merged-ranks.iotrace", "pause.iotrace", "serial-posix.iotrace"),
        "three-ranks-order.iotrace",
    ]


@pytest.mark.parametrize(
    "trace",
    kept_traces.kept(),
    ids=lambda one: f"{one.parent.name}-{one.name}",
)
def test_a_kept_trace_is_read_as_ever(trace: Path, tmp_path: Path) -> None:
    # given
    readable = kept_traces.unpacked(trace, tmp_path)
    patterns, calls = kept_traces.expected(trace)
    # when
    losses = iotune.open_trace(readable).metadata["losses"]
    # then
    if any(OTHER_TABLE in loss for loss in losses):
        assert trace.suffix == ".gz"
        print(f"NOT VERIFIED {trace.name}: the table of calls has changed since it was kept")
        return
    assert kept_traces.shown_patterns(readable) == patterns.read_text()
    assert kept_traces.shown_calls(readable) == calls.read_text()


def test_the_kept_traces_hold_every_kind_of_time(tmp_path: Path) -> None:
    kinds = {
        name: {
            call.time_kind
            for call in iotune.open_trace(
                kept_traces.unpacked(kept_traces.DATA / present_version() / name, tmp_path)
            ).each_call(layer="posix")
        }
        for name in ("serial-posix.iotrace", "four-ranks-hdf5.iotrace", "pause.iotrace")
    }
    assert kinds == {
        "serial-posix.iotrace": {"exact", "pattern"},
        "four-ranks-hdf5.iotrace": {"coded"},
        "pause.iotrace": {"exact", "bin"},
    }
