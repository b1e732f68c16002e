"""Programs on logged files, through `iotune fuse --logstore`: they say what they say elsewhere, and
leave the same files.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iotune.cli.fuse import _program
from iotune.logstore import is_container
from support.log_containers import Mount, why_not
from support.repository import program_source


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    if reason := why_not():
        pytest.skip(f"NOT VERIFIED: {reason}")
    mounted = Mount(_program(), tmp_path / "root", tmp_path / "mount")
    yield mounted
    mounted.end()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("programs")

    def program(name: str) -> str:
        path = folder / name
        words = ["gcc", "-O1", "-w", "-pthread", "-o", str(path), str(program_source(f"{name}.c"))]
        subprocess.run([*words, "-lrt"], check=True)
        return str(path)

    return program


class Folders:
    """An ordinary folder and one of the mount; what is run on either."""

    def __init__(self, mount: Mount, plain: Path) -> None:
        self.plain, self.logged, self._root = plain, mount.path / "work", mount.root / "work"
        self.plain.mkdir()
        self.logged.mkdir()

    def said(self, folder: Path, *command: str) -> str:
        words = [word.replace("FOLDER", str(folder)) for word in command]
        done = subprocess.run(words, capture_output=True, check=False, cwd=folder)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout.decode(errors="replace").replace(str(folder), "FOLDER")

    def said_on_both(self, *command: str) -> tuple[str, str]:
        return self.said(self.plain, *command), self.said(self.logged, *command)

    def are_equal(self) -> None:
        """File by file; and the one behind the mount are logs."""
        for folder in (self.plain, self.logged):
            assert not list(folder.rglob(".fuse_hidden*"))
        names = sorted(path.relative_to(self.plain) for path in self.plain.rglob("*"))
        assert names == sorted(path.relative_to(self.logged) for path in self.logged.rglob("*"))
        files = [name for name in names if (self.plain / name).is_file()]
        assert files
        for name in files:
            assert (self.logged / name).read_bytes() == (self.plain / name).read_bytes(), name
            if not (self.plain / name).is_symlink():
                assert is_container(self._root / name), name


@pytest.fixture
def folders(mount: Mount, tmp_path: Path) -> Folders:
    return Folders(mount, tmp_path / "plain")


@pytest.mark.parametrize("script", ["tools.sh", "formats.sh", "redirected.sh"])
def test_ordinary_programs(folders: Folders, script: str) -> None:
    plain, logged = folders.said_on_both("bash", str(program_source(script)), "FOLDER")
    assert logged == plain
    folders.are_equal()


@pytest.mark.parametrize("script", ["processes.py", "corners.py"])
def test_processes_and_their_descriptors(folders: Folders, script: str) -> None:
    plain, logged = folders.said_on_both(sys.executable, str(program_source(script)), "FOLDER")
    assert logged == plain


@pytest.mark.parametrize("program", ["leaving", "file_habits"])
def test_what_libc_and_the_kernel_do_with_a_file(
    folders: Folders, compiled: Callable[[str], str], program: str
) -> None:
    more = ["FOLDER"] if program == "file_habits" else []
    plain, logged = folders.said_on_both(compiled(program), "FOLDER/f", *more)
    assert logged == plain


@pytest.mark.parametrize("program", ["stdio_calls", "mixed_stream"])
def test_streams(folders: Folders, compiled: Callable[[str], str], program: str) -> None:
    for _ in range(3):
        seed = str(random.SystemRandom().randrange(2**31))
        plain, logged = folders.said_on_both(compiled(program), "FOLDER/f", seed)
        assert logged == plain, seed
    folders.are_equal()


def test_every_posix_call(folders: Folders, compiled: Callable[[str], str]) -> None:
    """All of the table. A container has one name, so that a second one is refused."""
    seed = str(random.SystemRandom().randrange(2**31))
    both = folders.said_on_both(compiled("posix_random"), "FOLDER", seed)

    def shown(said: str) -> list[str]:
        said = re.sub(r"^(mmap|msync|munmap) .*\n", "", said, flags=re.MULTILINE)
        return re.sub(r"FOLDER/\w{6}(\.\w+)?$", "made", said, flags=re.MULTILINE).splitlines()

    plain, logged = map(shown, both)
    assert len(plain) == len(logged)
    for one, other in zip(plain, logged):
        refused = other.split()[0] in ("link", "linkat", "unlink", "unlinkat") and " -1" in other
        assert one == other or refused, (seed, one, other)


def test_a_library_is_loaded(folders: Folders) -> None:
    script = (
        "echo 'int seven(void) { return 7; }' > own.c && gcc -shared -fPIC -o own.so own.c && "
        f"{sys.executable} -c \"import ctypes; print(ctypes.CDLL('./own.so').seven())\""
    )
    assert folders.said_on_both("bash", "-c", script) == ("7\n", "7\n")


def test_followers_see_what_is_appended(folders: Folders) -> None:
    script = (
        "echo 1 > f; tail -n1 -s 0.1 -f --pid=$$ f > shown & for i in 2 3 4; do "
        "until grep -q $((i - 1)) shown; do sleep 0.05; done; echo $i >> f; done; "
        "until grep -q 4 shown; do sleep 0.05; done; cat shown"
    )
    assert folders.said_on_both("timeout", "30", "bash", "-c", script) == ("1\n2\n3\n4\n",) * 2
