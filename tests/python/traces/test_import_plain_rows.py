"""Tables that are read by their columns say what they say row by row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import iotune
from iotune.importing import import_log, plain_rows, table

HEADS = (
    "rank,file,op,offset,length,start,end",
    "start_ns,op,file,length,offset,rank,duration_ns,x",
)
# A row of which one word is another.
ODD = ("", " 7", "7 ", "0x7", "0X7", "-1", "1e3", "4096.0", "9" * 19, "9" * 30, '"7"', "seven",
       "7,7", "1700000000.123456789012", "5.", ".5", "+7", "NA", "null", "nan", "#7", "write",
       "open", "MPI_File_write_at", "/a b", "\u00a0/f", "\udcff", "\t7")  # fmt: skip


def drawn(draw: random.Random, head: str, count: int) -> list[str]:
    lines = []
    time = draw.choice([0, 1_700_000_000])
    for at in range(count):
        seconds = f"{time + at * 0.001:.6f}"
        words = {
            "rank": draw.randrange(4), "file": f"/d/f{draw.randrange(3)}",
            "op": draw.choice(["read", "write", "pwrite64"]), "offset": 10 * at, "length": 10,
            "start": seconds, "end": f"{time + at * 0.001 + 0.0005:.6f}", "start_ns": 1000 * at,
            "duration_ns": draw.randrange(3000), "x": "any",
        }  # fmt: skip
        lines.append(",".join(str(words[name]) for name in head.split(",")))
    return lines


def outcome(log: Path, target: Path) -> object:
    target.unlink(missing_ok=True)
    try:
        done = import_log(log, target, format="csv")
    except iotune.Error as problem:
        return str(problem)
    trace = iotune.open_trace(target)
    calls = [(one.rank, one.text, one.start, one.seconds) for one in trace.each_call()]
    return done.calls, done.notes, calls, list(trace.processes["rank"])


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_rows, "_PIECE_BYTES", 600)
    monkeypatch.setattr(plain_rows, "_LEAST_BYTES", 1)


@pytest.mark.parametrize("head", HEADS)
def test_columns_say_what_rows_say(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_pieces: None
) -> None:
    draw = random.Random(57)
    log, target = tmp_path / "t.csv", tmp_path / "made"
    for round_ in range(120):
        lines = drawn(draw, head, draw.randrange(1, 60))
        for _ in range(draw.choice([0, 0, 1, 2])):
            at = draw.randrange(len(lines))
            words = lines[at].split(",")
            words[draw.randrange(len(words))] = draw.choice(ODD)
            lines[at] = draw.choice(["", "\n", " \n"]) + ",".join(words)
        end = draw.choice(["\n", "\n", "\r\n", ""])
        text = ("\n" if end == "" else end).join([head, *lines]) + end
        log.write_bytes(text.encode("utf-8", "surrogateescape"))
        by_columns = outcome(log, target)
        with monkeypatch.context() as patch:
            patch.setattr(table, "take_plain_rows", lambda *words: (words[-1], 0))
            assert by_columns == outcome(log, target), f"round {round_}: {text!r}"


def test_most_rows_are_read_by_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_pieces: None
) -> None:
    log = tmp_path / "t.csv"
    lines = drawn(random.Random(1), HEADS[0], 300)
    log.write_text("\n".join([HEADS[0], *lines, "0,/f,write,1,seven,1,2"]) + "\n")
    by_rows = 0
    add = table._add

    def counted(*words: Any) -> None:
        nonlocal by_rows
        by_rows += 1
        add(*words)

    monkeypatch.setattr(table, "_add", counted)
    with pytest.raises(iotune.Error, match=r"t\.csv:302: the length is 'seven', no number"):
        import_log(log, tmp_path / "made")
    assert by_rows < 30  # of the last piece alone
