"""`iotune analyze`: what it finds, that workers and ranks find the same, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import iotune
from iotune import core
from iotune.analysis import Options, analyze, parts
from iotune.analysis.sources import Source
from iotune.cli.analysis_text import print_analysis
from iotune.importing import import_log
from support.installed.json_schemas import conforming
from support.repository import TESTS

pytestmark = pytest.mark.mpi

DATA = TESTS / "data"
Access = tuple[int, str, str, int, int]  # rank, file, operation, offset, length


def log(path: Path, accesses: Iterable[Access]) -> Path:
    """Write a CSV of them, a microsecond each."""
    lines = ["rank,file,op,offset,length,start_ns,end_ns"]
    for at, (rank, file, op, offset, length) in enumerate(accesses):
        lines.append(f"{rank},{file},{op},{offset},{length},{1000 * at},{1000 * at + 500}")
    path.write_text("\n".join(lines) + "\n")
    return path


def trace(path: Path, accesses: Iterable[Access]) -> Path:
    import_log(log(path.with_suffix(".csv"), accesses), path)
    return path


def nested(ranks: int = 4) -> Iterable[Access]:
    """docs/patterns.md's example: 5×{4×{(8·rank,8); +100}; +1000}."""
    for rank in range(ranks):
        for i in range(5):
            for k in range(4):
                yield rank, "/data/nest", "write", 1000 * i + 100 * k + 8 * rank, 8


def found(path: Path, **options: Any) -> dict[str, Any]:
    result = analyze([path], Options(**options), jobs=1)
    assert result is not None
    (one,) = result["traces"]
    return one


def streams(one: dict[str, Any], file: str, operation: str = "write") -> dict[str, Any]:
    (entry,) = [entry for entry in one["files"] if entry["path"] == file]
    (row,) = [row for row in entry["streams"] if row["operation"] == operation]
    return row


def test_alike_ranks_are_one_nest_and_a_nest_of_starts(tmp_path: Path) -> None:
    one = found(log(tmp_path / "a.csv", nested()))
    row = streams(one, "/data/nest")
    (group,) = row["groups"]
    assert group["nests"] == ["5×{4×{(0,8); +100}; +1000}"]
    assert group["ranks"] == [[0, 3, 1]] and group["starts"] == "4×{0; +8}"
    assert (row["streams"], row["accesses"], row["bytes"]) == (4, 80, 640)
    # 22 bytes as docs/patterns.md says, and the names.
    assert one["log_bytes"] < 22 + len("posix write /data/nest") + 10
    assert one["format"] == "csv" and one["ranks"] == 4


def test_streams_with_other_lengths_or_places_are_other_groups(tmp_path: Path) -> None:
    def accesses() -> Iterable[Access]:
        for rank in range(6):
            for k in range(10):
                yield rank, "/f", "write", 64 * k + 640 * rank, 64 if rank < 4 else 32
        for k in range(9):
            yield 6, "/f", "read", 100 - 10 * k, 10

    one = found(log(tmp_path / "a.csv", accesses()))
    row = streams(one, "/f")
    assert [group["ranks"] for group in row["groups"]] == [[[0, 3, 1]], [[4, 5, 1]]]
    assert [group["nests"] for group in row["groups"]] == [
        ["10×{(0,64); +64}"],
        ["10×{(0,32); +64}"],
    ]
    (group,) = streams(one, "/f", "read")["groups"]
    assert group["nests"] == ["9×{(100,10); +-10}"] or group["nests"] == ["9×{(100,10); -10}"]


def test_inferred_descriptors_stand_beside(tmp_path: Path) -> None:
    def blocks() -> Iterable[Access]:
        for rank in range(4):
            yield rank, "/block", "write", 4096 * rank, 4096

    (file,) = found(log(tmp_path / "a.csv", blocks()))["files"]
    (one,) = file["descriptors"]
    assert one["descriptor"] == "<1D,(BLOCK),(4096)>" and one["inferred"] and one["speaks"]


def test_hdf5s_descriptors_are_those_of_show() -> None:
    kept = DATA / "v2" / "four-ranks-hdf5.iotrace"
    shown = iotune.open_trace(kept).summary
    (file,) = found(kept)["files"]
    assert [one["descriptor"] for one in file["descriptors"]] == [
        one.descriptor for one in shown.files[0].datasets
    ]
    assert {row["layer"] for row in file["streams"]} == {"mpiio", "posix"}
    (only,) = found(kept, layers=("mpiio",))["files"]
    assert {row["layer"] for row in only["streams"]} == {"mpiio"}


@pytest.mark.parametrize("algorithm", ["ours", "he2013"])
def test_the_papers_example_is_predicted(tmp_path: Path, algorithm: str) -> None:
    # After [0,(3,4,7)^2] come 31, 35, 42.
    places = [0, 3, 7, 14, 17, 21, 28]
    path = log(tmp_path / "a.csv", ((0, "/f", "read", place, 2) for place in places))
    row = streams(found(path, algorithm=algorithm, ahead=3), "/f", "read")
    next_ = (row["groups"][0] if algorithm == "ours" else row)["next"]
    assert [(one["offset"], one["length"]) for one in next_] == [(31, 2), (35, 2), (42, 2)]
    assert all(0 <= one["confidence"] <= 1 for one in next_)
    assert 0 <= row["right"] < len(places)


def test_he2013_finds_fs_test_as_one_entry(tmp_path: Path) -> None:
    def fs_test() -> Iterable[Access]:
        for rank in range(8):
            for k in range(16):
                yield rank, "/shared", "write", (8 * k + rank) * 4096, 4096

    one = found(log(tmp_path / "a.csv", fs_test()), algorithm="he2013")
    row = streams(one, "/shared")
    assert (row["local_entries"], row["global_entries"]) == (8, 1)
    assert row["global_bytes"] == one["log_bytes"] == 128 + 12 * 8  # as the papers count
    (entry,) = row["entries"]
    assert entry["text"].startswith("[0,(32768)^15] lengths [4096,(0)^15]")
    assert entry["accesses"] == 128


def big(path: Path) -> Path:
    """Write thirteen ranks with four files: in loops, in turns, and without a pattern."""

    def accesses() -> Iterable[Access]:
        for k in range(200):
            for rank in range(13):
                yield rank, "/loops", "write", 4096 * (13 * k + rank), 4096
                yield rank, f"/own-{rank % 3}", "write", 64 * k, 64
                yield rank, "/turns", "read", (k % 2) * 10**6 + k * 32 * (1 + k % 2), 32
                yield (
                    rank,
                    "/none",
                    "read",
                    (k * 7919 + rank * 104729) ** 2 % 999983,
                    1 + k * k % 17,
                )

    return trace(path, accesses())


def without_names(result: dict[str, Any] | None) -> Any:
    assert result is not None
    for one in result["traces"]:
        # Sections end elsewhere where parts do, so that the log may differ by some bytes.
        del one["log_bytes"], one["rate"]
    return result


def test_workers_find_what_one_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = big(tmp_path / "big.iotrace")
    options = Options(ahead=4)
    alone = analyze([path], options, jobs=1)
    monkeypatch.setattr(parts, "_LEAST_CALLS", 500)
    assert len(parts.parts_of([Source("", str(path))], options, 3)) > 6
    many = analyze([path], options, jobs=3)
    assert alone is not None and many is not None
    sizes = [one["traces"][0]["log_bytes"] for one in (alone, many)]
    assert sizes[1] <= sizes[0] * 1.02 + 64
    assert without_names(many) == without_names(alone)


def typed(work: Path, *words: str, before: tuple[str, ...] = (), status: int = 0) -> Any:
    done = subprocess.run(
        [*before, sys.executable, "-m", "iotune", *words],
        cwd=work,
        env=os.environ | {"XDG_STATE_HOME": str(work / "state")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


mpich = pytest.mark.skipif(
    shutil.which("mpirun.mpich") is None, reason="NOT VERIFIED analysis by ranks: no mpirun.mpich"
)


@mpich
def test_ranks_of_a_launcher_share_the_work(tmp_path: Path) -> None:
    big(tmp_path / "big.iotrace")
    log(tmp_path / "nest.csv", nested())
    words = ("analyze", "big.iotrace", "nest.csv", "--predict", "2", "--json")
    ranks = typed(tmp_path, *words, before=("mpirun.mpich", "-n", "3"))
    alone = typed(tmp_path, *words, "-j", "1")
    assert without_names(json.loads(ranks.stdout)) == without_names(json.loads(alone.stdout))
    assert not list(tmp_path.glob(".iotune-analyze-*"))


@mpich
def test_what_a_rank_refuses_is_said_once_and_ends_all(tmp_path: Path) -> None:
    (tmp_path / "no.csv").write_text("rank,file\n")
    before = ("mpirun.mpich", "-n", "2")
    done = subprocess.run(
        [*before, sys.executable, "-m", "iotune", "analyze", "no.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.count("iotune: ") == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list(tmp_path.glob(".iotune-analyze-*"))


def test_entries_beyond_the_limit_are_counted_and_not_joined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log(tmp_path / "a.csv", nested())
    joined = analyze([path], Options(algorithm="he2013"), jobs=1)
    capped = analyze([path], Options(algorithm="he2013", most_entries=2), jobs=1)
    assert joined is not None and capped is not None
    whole, cut = (streams(one["traces"][0], "/data/nest") for one in (joined, capped))
    assert whole["global_entries"] is not None
    assert cut["global_entries"] is None and cut["global_bytes"] is None
    # What needs no memory for all of them stays.
    for same in ("streams", "accesses", "bytes", "local_entries", "local_bytes"):
        assert cut[same] == whole[same], same
    print_analysis(joined)
    assert "too many to be joined" not in capsys.readouterr().out
    print_analysis(capped)
    assert "local entries" in (text := capsys.readouterr().out) and "too many to be joined" in text


def on_terminal(folder: Path, *words: str) -> tuple[str, str]:
    """stdout, and what a terminal got that is stderr."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-m", "iotune", *words],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=end, text=True,
    ) as child:  # fmt: skip
        os.close(end)
        shown = b""
        # A terminal whose other end was closed is an error, not an end.
        with contextlib.suppress(OSError):
            while piece := os.read(terminal, 1 << 16):
                shown += piece
        os.close(terminal)
        output = child.communicate(timeout=100)[0]
    assert child.returncode == 0, shown
    return output, shown.decode()


def test_a_terminal_gets_a_bar_of_calls_and_nobody_else(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.iotrace", nested())
    calls = re.compile(r"(\d+)/(\d+)")
    output, shown = on_terminal(tmp_path, "analyze", path.name, "-j", "1", "--json")
    bars = [(int(done), int(total)) for done, total in calls.findall(shown)]
    assert bars and len({total for _, total in bars}) == 1, shown
    done = [one for one, _ in bars]
    # It goes forward and ends with all that there is to read.
    assert done == sorted(done) and done[-1] == bars[-1][1] >= 80, shown
    # Nothing of it is in what programs read, and without a terminal there is none.
    piped = typed(tmp_path, "analyze", path.name, "-j", "1", "--json")
    assert json.loads(output) == json.loads(piped.stdout)
    assert not calls.search(piped.stderr)


def test_a_directory_is_all_its_traces(tmp_path: Path) -> None:
    work = tmp_path / "traces"
    work.mkdir()
    trace(work / "one.iotrace", nested(1))
    trace(work / "two.iotrace", nested(2))
    result = conforming("analyze", typed(tmp_path, "analyze", "traces", "--json").stdout)
    assert [Path(one["name"]).name for one in result["traces"]] == ["one.iotrace", "two.iotrace"]
    text = typed(tmp_path, "analyze", "traces", "--predict", "1").stdout
    assert "ranks 0-1: 5×{4×{(0,8); +100}; +1000}" in text
    assert "rank 0: 5×{4×{(0,8); +100}; +1000}" in text
    recorder = typed(tmp_path, "analyze", str(DATA / "logs" / "recorder-new"))
    assert "posix write" in recorder.stdout


def test_the_papers_algorithm_prints_units(tmp_path: Path) -> None:
    log(tmp_path / "a.csv", nested())
    text = typed(tmp_path, "analyze", "a.csv", "--algorithm", "he2013", "--predict", "2").stdout
    assert (
        "index of He et al." in text
        and "local entries" in text
        and "(100)^3] lengths [8,(0)^3]" in text
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"IOTUNE-TRACE", "no.iotrace"),
        (b"", "no.iotrace"),
        (b"rank,file,op,offset,length,start,end\n0,/f,read,-5,1,0,1\n", "no.iotrace:2"),
    ],
)
def test_what_is_no_trace_is_one_line(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "no.iotrace").write_bytes(content)
    said = typed(tmp_path, "analyze", "no.iotrace", status=1).stderr
    assert said.startswith("iotune: ") and why in said and said.count("\n") == 1
    typed(tmp_path, "analyze", "missing", status=1)


def test_options_are_checked() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: Options(algorithm="fft"),
        lambda: Options(predictor="oracle"),
        lambda: Options(layers=("hdf5",)),
        lambda: Options(ahead=-1),
        lambda: analyze([]),
    ]
    for one in wrong:
        with pytest.raises(iotune.Error):
            one()


def test_long_processes_are_summarised_call_by_call_alike(tmp_path: Path) -> None:
    traces = [*DATA.glob("v2/*.iotrace"), big(tmp_path / "big.iotrace")]
    assert len(traces) > 3
    for path in traces:
        whole, walked = (core.summarize(path, calls_at_once=calls) for calls in (1 << 18, 0))
        assert walked == whole


def test_a_signal_ends_it_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    # A worker that would go on for ever; what it is asked to do ends with it.
    program = (
        "import time, sys\n"
        "from pathlib import Path\n"
        "from iotune.analysis import workers\n"
        "def forever(*arguments):\n"
        "    Path('begun').touch()\n"
        "    time.sleep(1000)\n"
        "workers.run_part = forever\n"
        "from iotune.cli import main\n"
        "sys.argv = ['iotune', 'analyze', 'big.iotrace', '-j', '2']\n"
        "main()\n"
    )
    big(tmp_path / "big.iotrace")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    while not (tmp_path / "begun").exists() and child.poll() is None:
        time.sleep(0.02)
    child.terminate()
    # The pipe is closed only when no worker holds it any more.
    _, said = child.communicate(timeout=60)
    assert child.returncode == 128 + 15 and not said, said
    assert not list(temporary.iterdir())
