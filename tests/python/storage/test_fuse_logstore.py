"""`iotune fuse --logstore`: files below the mount are kept as logs, and nobody can tell."""

from __future__ import annotations

import errno
import fcntl
import filecmp
import mmap
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iotune.cli.fuse import _program
from iotune.logstore import LogContainer, is_container
from support.log_containers import Mount as LoggedMount
from support.log_containers import add_writer, make_container, why_not
from support.repository import program_source


@pytest.fixture(scope="module")
def mountable() -> None:
    if reason := why_not():
        pytest.skip(f"NOT VERIFIED: {reason}")
    _program()


@pytest.fixture(scope="module")
def exerciser(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("programs") / "exercise_file"
    source = program_source("exercise_file.c")
    subprocess.run(["gcc", "-O1", str(source), "-o", str(path)], check=True)
    return str(path)


class Mount(LoggedMount):
    """One of a place's own folder."""

    def __init__(self, place: Path, *options: str) -> None:
        super().__init__(_program(), place / "root", place / "m", *options)


@pytest.fixture(params=[(), ("--direct",)], ids=["cached", "direct"])
def mount(request: pytest.FixtureRequest, tmp_path: Path, mountable: None) -> Iterator[Mount]:
    mounted = Mount(tmp_path, *request.param)
    yield mounted
    mounted.end()


def content_of(path: Path) -> bytes:
    """What somebody reads who knows no mount."""
    container = LogContainer(path)
    assert container.is_whole()
    assert container.handle_bytes == 0
    assert container.strangers == []
    return container.read(0, container.size)


def verified(path: Path) -> None:
    words = [sys.executable, "-m", "iotune", "log", "verify", str(path)]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_random_calls_find_an_ordinary_file(mount: Mount, exerciser: str) -> None:
    seed = random.randrange(2**31)
    for number in range(3):
        file = mount.path / f"file{number}"
        done = subprocess.run(
            [exerciser, str(file), str(seed + number), "1500"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert filecmp.cmp(file, mount.path / f"file{number}.expected", shallow=False)
    mount.end()
    for number in range(3):
        kept = mount.root / f"file{number}"
        assert is_container(kept)
        verified(kept)
        expected = content_of(mount.root / f"file{number}.expected")
        assert content_of(kept) == expected, f"seed {seed + number}"


def test_ordinary_programs_find_a_file_system(mount: Mount, tmp_path: Path) -> None:
    # given a tree, and what programs do with it in an ordinary folder and in the mount
    source = tmp_path / "source"
    (source / "folder" / "deep").mkdir(parents=True)
    for index in range(12):
        (source / f"file {index}").write_bytes(os.urandom(index * 7919))
    (source / "folder" / "deep" / "leaf").write_text("leaf\n")
    (source / "link").symlink_to("file 3")
    plain = tmp_path / "plain"
    plain.mkdir()
    script = (
        "set -e; cp -a ../source copy; mv copy/folder copy/renamed; chmod 640 'copy/file 1';"
        "truncate -s 10 'copy/file 2'; rm 'copy/file 4'; echo more >> 'copy/file 6';"
        "mv 'copy/file 7' 'copy/file 8'; printf x | dd of='copy/file 9' bs=1 seek=100 conv=notrunc;"
        "cp 'copy/file 9' 'copy/file 10'; sed -i s/leaf/tree/ copy/renamed/deep/leaf;"
        "tar -cf all.tar copy; mkdir out; tar -C out -xf all.tar; rm -r copy/renamed;"
        "touch -d 2001-02-03 'copy/file 11'; : > 'copy/file 5'; stat -c '%n %s %a %F' copy/*;"
        "stat -c %y 'copy/file 11'; find . | sort"
    )
    # when
    shown = [
        subprocess.run(["bash", "-c", script], cwd=cwd, capture_output=True, check=False)
        for cwd in (plain, mount.path)
    ]
    # then
    assert [one.returncode for one in shown] == [0, 0], shown[1].stderr
    assert shown[0].stdout == shown[1].stdout
    (plain / "all.tar").unlink()  # has the times of its making
    files = [path.relative_to(plain) for path in plain.rglob("*") if path.is_file()]
    for file in files:
        assert filecmp.cmp(plain / file, mount.path / file, shallow=False), file
    mount.end()
    for file in files:
        if not (plain / file).is_symlink():
            assert content_of(mount.root / file) == (plain / file).read_bytes()
    verified(mount.root / "copy" / "file 9")
    left = [path.name for path in mount.root.rglob(".*")]
    assert left == []


def test_only_one_of_two_makes_a_file(mount: Mount) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    os.close(os.open(mount.path / "file", flags, 0o600))
    with pytest.raises(FileExistsError):
        os.open(mount.path / "file", flags, 0o600)
    assert (mount.path / "file").stat().st_mode == 0o100600
    with pytest.raises(PermissionError):  # a directory has one name
        os.link(mount.path / "file", mount.path / "other")
    with pytest.raises(NotADirectoryError):
        os.listdir(mount.path / "file")
    with pytest.raises(FileNotFoundError):
        (mount.path / "no" / "file").write_bytes(b"")
    assert [(entry.name, entry.is_file()) for entry in os.scandir(mount.path)] == [("file", True)]


def only_file_is_left(folder: Path) -> None:
    """A removed file has a hidden name until the kernel has said that nobody has it open."""
    end = time.monotonic() + 20
    while os.listdir(folder) != ["file"]:
        assert time.monotonic() < end, os.listdir(folder)
        time.sleep(0.01)


def test_a_removed_file_is_there_for_those_who_have_it_open(mount: Mount) -> None:
    (mount.path / "file").write_bytes(b"first")
    with (mount.path / "file").open("r+b", buffering=0) as file:
        (mount.path / "file").unlink()
        assert not (mount.path / "file").exists()
        assert file.read() == b"first"
        assert file.write(b" and more") == 9
        assert os.pread(file.fileno(), 100, 0) == b"first and more"
        assert os.fstat(file.fileno()).st_size == 14
        (mount.path / "file").write_bytes(b"another")
    only_file_is_left(mount.path)
    assert (mount.path / "file").read_bytes() == b"another"
    with (mount.path / "file").open("rb", buffering=0) as file:
        (mount.path / "new").write_bytes(b"new")
        os.rename(mount.path / "new", mount.path / "file")
        assert file.read() == b"another"
        assert (mount.path / "file").read_bytes() == b"new"
    only_file_is_left(mount.path)


def test_locks_keep_others_away(mount: Mount) -> None:
    (mount.path / "file").write_bytes(b"x")
    one = os.open(mount.path / "file", os.O_RDWR)
    two = os.open(mount.path / "file", os.O_RDWR)
    fcntl.flock(one, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(one, fcntl.LOCK_UN)
    fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(two)
    fcntl.lockf(one, fcntl.LOCK_EX, 1, 0)
    code = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDWR)\n"
        "try: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)\n"
        "except BlockingIOError: sys.exit(7)"
    )
    words = [sys.executable, "-c", code, str(mount.path / "file")]
    assert subprocess.run(words, check=False).returncode == 7
    os.close(one)
    assert subprocess.run(words, check=False).returncode == 0


def test_holes_are_kept(mount: Mount) -> None:
    file = os.open(mount.path / "file", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, b"x" * 1000, 0)
    os.pwrite(file, b"y" * 1000, 100_000)
    assert os.lseek(file, 0, os.SEEK_HOLE) == 1000
    assert os.lseek(file, 1000, os.SEEK_DATA) == 100_000
    assert os.lseek(file, 100_000, os.SEEK_HOLE) == 101_000
    with pytest.raises(OSError, match="No such device or address"):
        os.lseek(file, 101_000, os.SEEK_DATA)
    os.posix_fallocate(file, 0, 200_000)
    assert os.fstat(file).st_size == 200_000
    about = os.fstat(file)
    assert 0 < about.st_blocks * 512 < 100_000
    os.close(file)


def test_containers_of_others_are_files(tmp_path: Path, mountable: None) -> None:
    (tmp_path / "root").mkdir()
    path = make_container(tmp_path / "root" / "file.h5")
    add_writer(path, "node1.10.0", [(0, b"hello"), (3, b"LO")], first_ns=1000)
    mount = Mount(tmp_path)
    try:
        assert (mount.path / "file.h5").read_bytes() == b"helLO"
        # Another process writes to it beside the mount.
        add_writer(path, "node2.11.0", [(7, b"world"), (0, b"H")], first_ns=2000)
        assert (mount.path / "file.h5").read_bytes() == b"HelLO\0\0world"
        with (mount.path / "file.h5").open("ab", buffering=0) as file:
            add_writer(path, "node3.12.0", [(12, b"!")], first_ns=3000)
            file.write(b"?")
        assert (mount.path / "file.h5").read_bytes() == b"HelLO\0\0world!?"
        # What was synced and is lost is an error.
        os.truncate(path / "node2.11.0.log", 3)
        with pytest.raises(OSError, match="Input/output error") as raised:
            (mount.path / "file.h5").read_bytes()
        assert raised.value.errno == errno.EIO
    finally:
        mount.end()


@pytest.mark.parametrize("options", [(), ("--direct",)], ids=["cached", "direct"])
def test_lost_bytes_are_an_error_and_their_neighbours_are_not(
    tmp_path: Path, mountable: None, options: tuple[str, ...]
) -> None:
    # given a file of which one writer's log has lost its end, in the middle of the file
    (tmp_path / "root").mkdir()
    path = make_container(tmp_path / "root" / "file")
    content = os.urandom(1 << 20)
    lost = 300_000
    add_writer(path, "a", [(0, content[:lost]), (lost + 100, content[lost + 100 :])], first_ns=1)
    add_writer(path, "b", [(lost, content[lost : lost + 100])], first_ns=10**6)
    os.truncate(path / "b.log", 50)
    mount = Mount(tmp_path, *options)
    try:
        with (mount.path / "file").open("rb", buffering=0) as file:
            # when it is read in order
            read = b""
            with pytest.raises(OSError, match="Input/output error"):
                while piece := file.read(4096):
                    read += piece
            # then all before is there, to the page at least, and nothing is made up
            assert len(read) >= lost // 4096 * 4096
            assert read == content[: len(read)]
            assert len(read) <= lost + 50
            page = (lost + 100 + 4095) // 4096 * 4096
            assert os.pread(file.fileno(), 1 << 20, page) == content[page:]
        assert (mount.path / "file").stat().st_size == 1 << 20
    finally:
        mount.end()


def test_maps_are_written_back(tmp_path: Path, mountable: None) -> None:
    mount = Mount(tmp_path)
    try:
        content = bytearray(os.urandom(50_000))
        (mount.path / "file").write_bytes(content)
        with (mount.path / "file").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[20_000:30_000] = b"m" * 10_000
            content[20_000:30_000] = b"m" * 10_000
            mapped.flush()
            assert mapped[:] == content
    finally:
        mount.end()
    assert content_of(mount.root / "file") == content


def test_modes_hold_for_the_logs_too(mount: Mount) -> None:
    file = mount.path / "file"
    file.write_bytes(b"x")
    file.chmod(0o640)
    assert file.stat().st_mode & 0o777 == 0o640
    assert not os.access(file, os.X_OK)
    assert mount.path.joinpath("file").stat().st_nlink == 1
    os.utime(file, ns=(10**18, 2 * 10**18))
    about = file.stat()
    assert (about.st_atime_ns, about.st_mtime_ns) == (10**18, 2 * 10**18)
    mount.end()
    for inner in (mount.root / "file").iterdir():
        mode = inner.stat().st_mode & 0o777
        assert mode == 0o640, inner


def test_what_was_synced_outlives_a_killed_server(tmp_path: Path, mountable: None) -> None:
    mount = Mount(tmp_path)
    file = os.open(mount.path / "file", os.O_RDWR | os.O_CREAT)
    os.write(file, b"synced")
    os.fsync(file)
    os.write(file, b", and this was not")
    mount.server.send_signal(signal.SIGKILL)
    mount.server.wait()
    subprocess.run(["fusermount3", "-u", "-z", str(mount.path)], check=True)
    assert content_of(mount.root / "file") == b"synced"
    mount = Mount(tmp_path)
    assert (mount.path / "file").read_bytes() == b"synced"
    mount.end()


def test_several_programs_write_one_file(mount: Mount) -> None:
    code = (
        "import os, sys; rank = int(sys.argv[2])\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)\n"
        "for i in range(100): os.pwrite(fd, bytes([65 + rank]) * 100, (i * 4 + rank) * 100)\n"
        "log = os.open(sys.argv[1] + '.log', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)\n"
        "for i in range(30): os.write(log, bytes([65 + rank]) * (5 + rank) + b'\\n')"
    )
    file = mount.path / "file"
    programs = [
        subprocess.Popen([sys.executable, "-c", code, str(file), str(rank)]) for rank in range(4)
    ]
    assert [program.wait(60) for program in programs] == [0, 0, 0, 0]
    expected = b"".join(bytes([65 + i % 4]) * 100 for i in range(400))
    assert file.read_bytes() == expected
    lines = (mount.path / "file.log").read_bytes().splitlines()
    assert sorted(lines) == sorted(bytes([65 + r]) * (5 + r) for r in range(4) for _ in range(30))
    mount.end()
    assert content_of(mount.root / "file") == expected


def test_the_command_mounts_and_runs(tmp_path: Path, mountable: None) -> None:
    for name in ("m", "root"):
        (tmp_path / name).mkdir()
    words = [sys.executable, "-m", "iotune", "fuse", "m", "root", "--logstore", "--"]
    script = "echo bytes > m/file; cat m/file"
    done = subprocess.run(
        [*words, "bash", "-c", script], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"bytes\n"), done.stderr
    assert content_of(tmp_path / "root" / "file") == b"bytes\n"
