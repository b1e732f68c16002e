"""`iotune analyze` of damaged traces: a result or an Error with the file; memory is limited."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import iotune
from iotune.analysis import analyze
from iotune.importing import import_log
from support.installed.import_logs import LOGS
from support.repository import TESTS

KEPT = TESTS / "data" / "v2"
MOST_MEMORY_BYTES = 1 << 30

# In a process of its own, whose memory is limited: what needs more, or crashes, is seen.
PROGRAM = """
import json, sys
from iotune import Error
from iotune.analysis import Options, analyze
for path in sys.argv[1:]:
    for algorithm in ("ours", "he2013"):
        try:
            (one,) = analyze([path], Options(algorithm, ahead=2), jobs=1)["traces"]
            said = {"accesses": one["accesses"], "losses": one["losses"]}
        except Error as problem:
            said = {"error": str(problem)}
        print(json.dumps(said))
"""


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Cut it, change some bytes, or repeat a piece of it."""
    changed = bytearray(content)
    kind = draw.randrange(3)
    if kind == 0:
        del changed[draw.randrange(len(changed)) :]
    elif kind == 1:
        for _ in range(draw.randint(1, 30)):
            changed[draw.randrange(len(changed))] = draw.choice([0, 1, 0x7F, 0x80, 0xFF])
    else:
        begin, size = draw.randrange(len(changed)), draw.randint(1, 200)
        changed[begin:begin] = changed[begin : begin + size] * draw.randint(1, 50)
    return bytes(changed)


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))


@pytest.mark.parametrize(
    ("name", "seed"), [("four-ranks-hdf5", 1), ("merged-ranks", 2), ("serial-posix", 3)]
)
def test_damaged_traces_are_a_result_or_one_line(tmp_path: Path, name: str, seed: int) -> None:
    draw = random.Random(seed)
    whole = (KEPT / f"{name}.iotrace").read_bytes()
    paths = []
    for number in range(40):
        path = tmp_path / f"damaged-{number}.iotrace"
        path.write_bytes(damaged(whole, draw))
        paths.append(path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == 2 * len(paths)
    for number, one in enumerate(said):
        if "error" in one:
            assert f"damaged-{number // 2}.iotrace" in one["error"] and "\n" not in one["error"]
    assert any(one.get("losses") for one in said)


def test_what_is_no_trace_in_a_folder_of_traces_is_one_line(tmp_path: Path) -> None:
    # given a good trace, one of a later version, an empty file, a link to nowhere and a pipe
    folder = tmp_path / "traces"
    folder.mkdir()
    import_log(LOGS / "accesses.csv", folder / "a.iotrace")
    (folder / "b.iotrace").write_bytes(b"IOTUNE-TRACE\xff\0\0\0")
    (folder / "c.iotrace").touch()
    (folder / "d.iotrace").symlink_to("nowhere")
    os.mkfifo(folder / "e.iotrace")
    # when
    result = analyze([folder], jobs=1)
    # then
    assert result is not None
    assert [Path(one["name"]).name for one in result["traces"]] == ["a.iotrace"]
    named = [Path(text.split(":")[0]).name for text in result["left_out"]]
    assert named == ["b.iotrace", "c.iotrace", "d.iotrace", "e.iotrace"]
    (folder / "a.iotrace").unlink()
    with pytest.raises(iotune.Error, match="version 255.* 3 more that cannot be read"):
        analyze([folder], jobs=1)
