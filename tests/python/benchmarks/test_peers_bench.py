"""How the benchmark of peers reads what they leave."""

from __future__ import annotations

import gzip
import subprocess

import pytest

from bench import native
from bench.peers import tracers
from bench.peers.bench_peers import ENDS
from bench.peers.peer_reports import convert_by_copy

LINES = b'{"name":"open"}\n' + b'{"name":"pwrite","cat":"POSIX"}\n' * 1000


@pytest.fixture
def dftracer(tmp_path):
    """A tracer with an empty folder."""
    made = tracers.Tracer("dftracer", (), tmp_path / "dftracer")
    made.clear()
    return made


@pytest.mark.parametrize(
    ("content", "kept"),
    [(LINES, 1000), (gzip.compress(LINES), 1000), (gzip.compress(LINES) * 2, 2000), (b"", 0),
     (b'{"name":"pwrite"}\n{"name":"pwr', 1)],
)  # fmt: skip
def test_a_log_is_counted(dftracer, tmp_path, content, kept):
    (dftracer.folder / "trace-1.pfw.gz").write_bytes(content)
    assert dftracer.kept(tmp_path) == kept
    assert dftracer.bytes_left() == len(content)


def test_a_cut_log_is_counted_as_far_as_it_goes(dftracer, tmp_path):
    whole = gzip.compress(b"".join(b'{"name":"pwrite","id":%d}\n' % i for i in range(100_000)))
    (dftracer.folder / "trace-1.pfw.gz").write_bytes(whole[: len(whole) // 2])
    assert 10_000 < dftracer.kept(tmp_path) < 90_000


@pytest.mark.parametrize("how", [how for how in ENDS if how != "fork"])
def test_the_program_writes_what_is_expected(tmp_path, how):
    program = native.compiled("ends_badly.c", tmp_path)
    done = subprocess.run([program, tmp_path / "data", how], check=False)
    assert done.returncode == {"term": -15, "kill": -9}.get(how, 0)
    assert (tmp_path / "data").stat().st_size == (2 * ENDS[how] - 1) * 64


def test_the_stand_in_for_darshan_convert_copies(tmp_path):
    (tmp_path / "a").write_bytes(b"log")
    script = convert_by_copy(tmp_path / "bin") / "darshan-convert"
    subprocess.run([script, tmp_path / "a", tmp_path / "b"], check=True)
    assert (tmp_path / "b").read_bytes() == b"log"
