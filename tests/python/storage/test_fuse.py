"""The pass-through file system: it records what a preload cannot see, and changes nothing."""

from __future__ import annotations

import errno
import filecmp
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import iotune
from iotune.cli.fuse import _program
from iotune.errors import Error
from iotune.quantities import bytes_a_second, duration_ns, size_bytes
from support.repository import program_source

SOURCE = program_source("static_io.c")


@pytest.fixture(scope="module")
def mountable() -> None:
    if not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        pytest.skip("NOT VERIFIED: iotune fuse: /dev/fuse or fusermount3 cannot be had here")
    if os.geteuid() != 0 and not os.stat(str(shutil.which("fusermount3"))).st_mode & 0o4000:
        pytest.skip("NOT VERIFIED: iotune fuse: fusermount3 is not set-uid")
    _program()


@pytest.fixture(scope="module")
def static_io(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("programs") / "static io"
    subprocess.run(["gcc", "-O1", "-static", str(SOURCE), "-o", str(path)], check=True)
    return str(path)


@pytest.fixture
def place(tmp_path: Path, mountable: None) -> Path:
    for name in ("m", "root"):
        (tmp_path / name).mkdir()
    return tmp_path


def typed(work: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "fuse", *words],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not os.path.ismount(work / "m")
    return done


def transfers(trace: iotune.Trace) -> list[tuple[str, int, int]]:
    """What the trace has, as static_io prints it."""
    calls = trace.calls(call=["pread", "pwrite"])
    rows = zip(calls.call, calls.offset_bytes, calls.length_bytes)
    return [(name[1], int(offset), int(length)) for name, offset, length in rows]


def said(output: str) -> list[tuple[str, int, int]]:
    words = [line.split() for line in output.splitlines() if line[:2] in ("r ", "w ")]
    return [(kind, int(offset), int(size)) for kind, offset, size in words]


def test_a_static_program_is_recorded_call_by_call(place: Path, static_io: str) -> None:
    seed = random.randrange(2**31)
    # when
    done = typed(
        place, "m", "root", "--direct", "--trace", "t.iotrace", "--",
        static_io, "m/data", str(seed), "500",
    )  # fmt: skip
    # then
    made = said(done.stdout)
    assert len(made) == 500, f"seed {seed}"
    trace = iotune.open_trace(place / "t.iotrace")
    assert transfers(trace) == made, f"seed {seed}"
    assert len(trace.processes) == 1  # the kernel's own requests are the opener's
    assert list(trace.files.path) == [str(place / "m" / "data")]
    # And what it did is the same as without.
    subprocess.run([static_io, "plain", str(seed), "500"], cwd=place, check=True)
    assert filecmp.cmp(place / "plain", place / "root" / "data", shallow=False)


def test_each_read_takes_its_latency(place: Path) -> None:
    (place / "root" / "data").write_bytes(os.urandom(64))
    read = "import os; f = os.open('m/data', 0); [os.pread(f, 1, i) for i in range(20)]"
    begin = time.monotonic()
    typed(place, "m", "root", "--direct", "--latency", "20ms", "--", sys.executable, "-c", read)
    assert time.monotonic() - begin >= 20 * 0.020


def test_some_reads_take_longer(place: Path) -> None:
    (place / "root" / "data").write_bytes(os.urandom(64))
    read = (
        "import os, time; f = os.open('m/data', 0); now = time.monotonic\n"
        "def one(i): a = now(); os.pread(f, 1, i % 64); return now() - a\n"
        "took = [one(i) for i in range(200)]\n"
        "assert min(took) >= 0.001, min(took)\n"
        "assert sum(t >= 0.003 for t in took) >= 12, took"
    )
    # Of 80 % the latency is drawn, of 0.8 * 3^-1.5 = 15 % it is three times as long at least. The
    # exponent is such that no draw takes a minute.
    typed(place, "m", "root", "--direct", "--latency", "1ms", "--latency-tail", "80%:2.5", "--",
          sys.executable, "-c", read)  # fmt: skip


def test_ordinary_programs_find_a_file_system(place: Path) -> None:
    source = place / "source"
    source.mkdir()
    for index in range(20):
        (source / f"file {index}").write_bytes(os.urandom(index * 7919))
    (source / "link").symlink_to("file 3")
    (source / "folder").mkdir()
    script = (
        "set -e; cp -a source m/copy; mv m/copy/folder m/copy/renamed; chmod 640 'm/copy/file 1';"
        "truncate -s 10 'm/copy/file 2'; rm 'm/copy/file 4'; ln 'm/copy/file 5' m/copy/hard;"
        "echo more >> 'm/copy/file 6'; ls m/copy | sort; tar -C m -cf m/all.tar copy"
    )
    done = typed(place, "m", "root", "--", "bash", "-c", script)
    copy = place / "root" / "copy"
    assert done.stdout.split("\n")[:-1] == sorted(os.listdir(copy))
    assert (copy / "file 2").stat().st_size == 10
    assert (copy / "file 1").stat().st_mode & 0o777 == 0o640
    assert (copy / "hard").stat().st_ino == (copy / "file 5").stat().st_ino
    assert (copy / "file 6").read_bytes().endswith(b"more\n")
    assert os.readlink(copy / "link") == "file 3"
    for index in range(7, 20):
        assert filecmp.cmp(source / f"file {index}", copy / f"file {index}", shallow=False)


def test_the_command_s_exit_status_is_returned(place: Path) -> None:
    typed(place, "m", "root", "--", "bash", "-c", "exit 7", status=7)
    typed(place, "m", "root", "--", "./no-such-program", status=127)


def prefetch_report(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """What iotune-fuse says at its end."""
    line = next(line for line in done.stderr.splitlines() if "prefetch:" in line)
    words = ("reads", "hits", "waited", "misses", "ahead", "unused")
    return dict(zip(words, map(int, re.findall(r"\d+", line))))


@pytest.mark.parametrize("how", ["pattern", "he2013", "markov", "recorded"])
def test_what_is_predicted_is_served_from_memory(place: Path, how: str) -> None:
    content = os.urandom(3 << 20)
    (place / "root" / "data").write_bytes(content)
    (place / "read.py").write_text(
        "import os, sys\n"
        "f = os.open('m/data', 0)\n"
        "for i in range(60): sys.stdout.buffer.write(os.pread(f, 3000, i * 50000))\n"
    )
    # Markov's model and the plan are those of the first run below the mount point.
    runs = 2 if how in ("markov", "recorded") else 1
    done = typed(
        place, "m", "root", "--direct", "--latency", "2ms", "--prefetch", how, "--",
        "bash", "-c", f"for i in {'1 ' * runs}; do '{sys.executable}' read.py > out; done",
    )  # fmt: skip
    expected = b"".join(content[i * 50000 : i * 50000 + 3000] for i in range(60))
    assert (place / "out").read_bytes() == expected
    report = prefetch_report(done)
    assert report["reads"] == 60 * runs
    assert report["hits"] >= 40
    assert report["misses"] == report["reads"] - report["hits"]
    assert report["unused"] <= report["ahead"] // 4


def test_what_is_read_ahead_fits_into_the_memory_given(place: Path) -> None:
    (place / "root" / "data").write_bytes(os.urandom(1 << 20))
    read = "import os; f = os.open('m/data', 0); [os.pread(f, 4096, i * 8192) for i in range(128)]"
    done = typed(
        place, "m", "root", "--direct", "--latency", "1ms", "--prefetch", "pattern",
        "--prefetch-memory", "4095", "--", sys.executable, "-c", read,
    )  # fmt: skip
    assert prefetch_report(done) == {
        "reads": 128, "hits": 0, "waited": 0, "misses": 128, "ahead": 0, "unused": 0
    }  # fmt: skip


@pytest.mark.parametrize("direct", [["--direct"], []])
def test_nothing_stale_is_served(place: Path, direct: list[str]) -> None:
    seed = random.randrange(2**31)
    done = typed(
        place, "m", "root", *direct, "--latency", "300us", "--prefetch", "pattern", "--",
        sys.executable, str(SOURCE.parent / "reads_against_model.py"), "m/data", str(seed), "60",
    )  # fmt: skip
    if direct:
        assert prefetch_report(done)["hits"] > 0, f"seed {seed}"


def test_bad_arguments_are_named(place: Path) -> None:
    (place / "full").mkdir()
    (place / "full" / "x").touch()
    (place / "t.iotrace").touch()
    assert "2 parsecs" in typed(place, "m", "root", "--latency", "2 parsecs", status=2).stderr
    for tail, word in (("much", "SHARE:EXPONENT"), ("120%:2", "120%"), ("10%:1", "above 1")):
        options = ("--latency", "1ms", "--latency-tail", tail)
        assert word in typed(place, "m", "root", *options, status=2).stderr
    assert "--latency" in typed(place, "m", "root", "--latency-tail", "1%:2", status=2).stderr
    assert "guess" in typed(place, "m", "root", "--prefetch", "guess", status=2).stderr
    assert "much" in typed(place, "m", "root", "--prefetch-memory", "much", status=2).stderr
    assert "full" in typed(place, "full", "root", status=1).stderr
    assert "no-root" in typed(place, "m", "no-root", status=1).stderr
    assert "t.iotrace" in typed(place, "m", "root", "--trace", "t.iotrace", status=1).stderr


def test_times_and_rates_are_read() -> None:
    assert duration_ns("2ms") == 2_000_000
    assert duration_ns("0.5 s") == 500_000_000
    assert bytes_a_second("20MB/s") == 20_000_000
    assert bytes_a_second("1 GiB/s") == 1 << 30
    assert size_bytes("64MiB") == 64 << 20
    assert size_bytes("4096") == 4096
    for bad in ("", "ms", "-1ms", "5"):
        with pytest.raises(Error, match="time"):
            duration_ns(bad)
    for bad in ("", "0", "fast"):
        with pytest.raises(Error, match="bandwidth"):
            bytes_a_second(bad)
        with pytest.raises(Error, match="size"):
            size_bytes(bad)


_CREATE = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.stat(os.path.dirname(sys.argv[1]))
print("looks", flush=True)
try:
    os.close(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666))
except OSError as error:
    print(error.errno)
"""


@pytest.mark.parametrize("what", ["file", "link"])
def test_root_gives_away_what_it_made_alone(mountable: None, what: str) -> None:
    """What gets the name between the kernel's look and the creation stays its owner's."""
    if os.geteuid() != 0:
        pytest.skip("NOT VERIFIED: iotune fuse: a mount of root's, without root")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        place = Path(folder)
        root, mount, secret = place / "root", place / "m", place / "secret"
        for made in (root, mount):
            made.mkdir()
        place.chmod(0o755)
        root.chmod(0o777)
        secret.write_text("root's")
        secret.chmod(0o600)
        # A look takes its answer with it for so long.
        server = subprocess.Popen([_program(), str(mount), str(root), "--allow-other",
                                   "--metadata-latency-ns=300000000"])  # fmt: skip
        try:
            while not os.path.ismount(mount):
                assert server.poll() is None
                time.sleep(0.01)
            command = [sys.executable, "-c", _CREATE, str(mount / "x")]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
                assert client.stdout is not None and client.stdout.readline() == "looks\n"
                time.sleep(0.15)
                if what == "link":
                    (root / "x").symlink_to(secret)
                else:
                    secret.rename(root / "x")
                said, _ = client.communicate(timeout=60)
            assert int(said) == errno.EACCES, said
            kept = secret if what == "link" else root / "x"
            assert kept.stat().st_uid == 0 and kept.read_text() == "root's"
            # What it makes belongs to the process that asked.
            command[-1] = str(mount / "y")
            subprocess.run(command, check=True, capture_output=True)
            assert (root / "y").stat().st_uid == 65534
        finally:
            subprocess.run(["fusermount3", "-u", str(mount)], check=True)
            server.wait(30)
