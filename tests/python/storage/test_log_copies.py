"""What tools that know nothing of the log store see of a container, and what they make of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.logstore import LogContainer, compact, is_container
from support.log_containers import add_writer, make_container

CONTENT = b"HelLO\0\0world"

# From the folder FROM, the container `file`, to the folder TO.
TOOLS = {
    "cp -r": ["cp", "-r", "FROM/file", "TO/"],
    "cp -a": ["cp", "-a", "FROM/file", "TO/"],
    "tar": ["sh", "-c", "tar -C FROM -cf - file | tar -C TO -xf -"],
    "rsync": ["rsync", "-a", "FROM/file", "TO/"],
    "mv": ["mv", "FROM/file", "TO/"],
}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    path = make_container(tmp_path / "from" / "file")
    add_writer(path, "node1.10.0", [(0, b"hello"), (3, b"LO")], first_ns=1000)
    (path / "handle").touch()
    return path


def write_more(path: Path) -> None:
    add_writer(path, "node2.11.0", [(7, b"world"), (0, b"H")], first_ns=2000)


def use(tool: str, folder: Path) -> None:
    words = [
        word.replace("FROM", str(folder / "from")).replace("TO", str(folder / "to"))
        for word in TOOLS[tool]
    ]
    if shutil.which(words[0]) is None:
        pytest.skip(f"NOT VERIFIED: there is no {words[0]}")
    subprocess.run(words, check=True)


@pytest.mark.parametrize("compacted", ["never", "between", "at the end"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_copy_is_a_container_that_reads_the_same(
    kept: Path, tmp_path: Path, tool: str, compacted: str
) -> None:
    if compacted == "between":
        compact(kept)
    write_more(kept)
    if compacted == "at the end":
        compact(kept, least_live=2.0)
    use(tool, tmp_path)
    copy = LogContainer(tmp_path / "to" / "file", verify=True)
    assert copy.is_whole()
    assert copy.read(0, 100) == CONTENT
    assert copy.strangers == []
    # The copy is one of its own: it may be compacted.
    compact(tmp_path / "to" / "file", least_live=2.0)
    assert LogContainer(tmp_path / "to" / "file").read(0, 100) == CONTENT


def test_rsync_again_after_a_compaction_needs_delete(kept: Path, tmp_path: Path) -> None:
    """Indexes that the source has no more would count as those of later writers."""
    write_more(kept)
    use("rsync", tmp_path)
    compact(kept, least_live=2.0)
    copy = tmp_path / "to" / "file"
    subprocess.run(["rsync", "-a", "--delete", f"{kept}/", f"{copy}/"], check=True)
    assert LogContainer(copy, verify=True).is_whole()
    assert LogContainer(copy).read(0, 100) == CONTENT


def test_du_counts_the_logs(kept: Path) -> None:
    add_writer(kept, "node3.1.0", [(0, b"x" * (1 << 20))], first_ns=9000)
    done = subprocess.run(["du", "-sk", kept], capture_output=True, text=True, check=True)
    assert 1024 <= int(done.stdout.split()[0]) <= 1024 + 64


def test_a_program_without_the_log_store_sees_a_directory_that_explains_itself(kept: Path) -> None:
    with pytest.raises(IsADirectoryError):
        kept.open("rb")
    assert os.path.isdir(kept)
    assert is_container(kept)
    script = "import sys; print(open(sys.argv[1] + '/README').read())"
    done = subprocess.run(
        [sys.executable, "-c", script, str(kept)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
