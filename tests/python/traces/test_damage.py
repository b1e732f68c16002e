"""Whatever byte of a trace is cut off or changed: no crash, and what was lost is said."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from iotune.cli import app
from iotune.reports.losses import say_losses
from support.installed import kept_traces

TRACES = kept_traces.kept()
# Of a process buffer only the blocks carry checksums: a header and a ring are written while the
# program runs. A changed bit in them must not crash the reader; nobody can tell that it is one.
BUFFER_BLOCKS = range(8192 + 64, 8192 + 4096)
BUFFER_ENDS = 80_000  # the rest of a kept buffer is zeros


def named(trace: Path) -> str:
    return f"{trace.parent.name}-{trace.name.split('.')[0]}"


def faults(path: Path, kind: str, first: int, last: int, step: int) -> list[str]:
    """What damage_reader.py complains of."""
    program = kept_traces.DATA / "damage_reader.py"
    words = [str(path), kind, *(str(number) for number in (first, last, step))]
    done = subprocess.run(
        [sys.executable, str(program), *words],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *lines, looked = done.stdout.splitlines()
    assert int(looked.removeprefix("looked at ")) > 0
    return lines


def complaints(trace: Path, kind: str, place: Path, positions: int | None) -> list[str]:
    """The faults at about so many positions, None for all, without those that none can tell."""
    readable = kept_traces.unpacked(trace, place)
    end = min(readable.stat().st_size, BUFFER_ENDS if trace.suffix == ".gz" else 1 << 40)
    step = 1 if positions is None else max(1, end // positions)
    first = random.Random(f"{named(trace)} {kind}").randrange(step)
    found = faults(readable, kind, first, end, step)
    if trace.suffix == ".gz":
        found += faults(
            readable, kind, BUFFER_BLOCKS.start, BUFFER_BLOCKS.start + 500, 1 + step // 50
        )
    if trace.suffix != ".gz" or kind == "cut":
        return found
    return [one for one in found if not one.endswith("in silence") or _place(one) in BUFFER_BLOCKS]


def _place(fault: str) -> int:
    return int(fault.split(":")[0].split()[1])


@pytest.mark.parametrize("kind", ["cut", "flip"])
@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_damage_is_survived_and_reported(trace: Path, kind: str, tmp_path: Path) -> None:
    assert complaints(trace, kind, tmp_path, positions=150) == []


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["cut", "flip"])
@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_damage_at_every_byte(trace: Path, kind: str, tmp_path: Path) -> None:
    assert complaints(trace, kind, tmp_path, positions=None) == []


def test_a_silent_loss_would_be_found(tmp_path: Path) -> None:
    # given what cannot be noticed: a bit of the offset of a call in a ring
    *_, trace = (one for one in TRACES if one.suffix == ".gz")  # of the present table of calls
    readable = kept_traces.unpacked(trace, tmp_path)
    # when
    found = faults(readable, "flip", 74_000, 76_000, 3)
    # then
    assert any(one.endswith("lost in silence") for one in found)


@pytest.mark.parametrize("command", ["show", "explain", "analyze"])
def test_each_command_tells_what_was_lost(command: str, tmp_path: Path) -> None:
    # given a trace without a part in its middle
    (whole,) = (one for one in TRACES if named(one) == "v3-four-ranks-hdf5")
    content = bytearray(whole.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged = tmp_path / "damaged.iotrace"
    damaged.write_bytes(content)
    # when
    said = CliRunner().invoke(app, [command, str(damaged)]).stderr.splitlines()
    of_the_whole = CliRunner().invoke(app, [command, str(whole)]).stderr
    # then
    (line,) = (one for one in said if one.startswith("iotune: damaged: passed over "))
    assert int(line.split()[4]) > 0
    assert "damaged" not in of_the_whole


def test_what_several_processes_lost_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    ended = [f"rank {rank} (process {rank + 70}): ended early" for rank in range(64)]
    say_losses([*ended, "no room"])
    assert capsys.readouterr().err == (
        "iotune: rank 0 (process 70): ended early (and 63 more like it)\niotune: no room\n"
    )
