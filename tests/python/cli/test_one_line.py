"""Whatever fails, and wherever: one line, no traceback, of every command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from iotune.command_table import COMMANDS
from iotune.importing import import_log
from support.installed.import_logs import LOGS

# Those that print something of a trace or a database, and how they are asked to.
PRINTING = [
    "--help", "--version", "lib", "show TRACE", "show TRACE --all", "show TRACE --json",
    "show TRACE --calls", "show TRACE --calls --json", "export TRACE -o -",
    "export TRACE -o - --format perfetto", "analyze TRACE", "analyze TRACE --json", "explain TRACE",
    "explain TRACE --json", "replay TRACE --plan-only", "db list", "db list --json", "db export",
    "db ledger", *(f"{name} --help" for name in COMMANDS),
]  # fmt: skip
# Those that read or write below the user's home, or a file there.
AT_HOME = [
    "show", "show --calls", "explain", "export", "export -o -", "analyze HOME/t", "import HOME/log",
    "replay HOME/t", "train", "run -o HOME/t -- true", "db list", "db show 1", "db export",
    "db query <1D,(BLOCK),(6)>", "db history 1", "db ledger", "db ingest", "db merge HOME/other.db",
    "db import HOME/other.json", "db list --db HOME/patterns.db",
]  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trace") / "run.iotrace"
    import_log(LOGS / "accesses.csv", made)
    return made


def typed(
    tmp_path: Path, words: str, trace: Path, program: str = "", **how: Any
) -> subprocess.CompletedProcess[str]:
    home = tmp_path / "home"
    environment = {name: value for name, value in os.environ.items() if "XDG_" not in name}
    environment |= {"HOME": str(home), "IOTUNE_BUFFER_DIR": str(tmp_path / "buffers")}
    start = ["-c", program] if program else ["-m", "iotune"]
    replaced = [
        word.replace("TRACE", str(trace)).replace("HOME", str(home)) for word in words.split()
    ]
    return subprocess.run(
        [sys.executable, *start, *replaced],
        **{"stdout": subprocess.PIPE, "cwd": tmp_path, "env": environment, "timeout": 60, **how},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def is_one_line(text: str) -> bool:
    return text.startswith("iotune: ") and text.count("\n") == 1 and text.endswith("\n")


@pytest.mark.parametrize("words", PRINTING)
def test_a_full_device(tmp_path: Path, trace: Path, words: str) -> None:
    with open("/dev/full", "w") as full:
        done = typed(tmp_path, words, trace, stdout=full)
    said = done.stderr.splitlines()
    if "db" in words and "export" not in words and "--json" not in words and not done.returncode:
        assert "is empty" in said[0]  # nothing was printed on stdout
        return
    assert done.returncode == 1, done.stderr
    assert said[-1] == "iotune: stdout: No space left on device"
    assert all(line.startswith("iotune: ") for line in said)


@pytest.mark.parametrize("words", [one for one in PRINTING if not one.endswith(" --help")])
def test_a_reader_that_has_enough(tmp_path: Path, trace: Path, words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = typed(tmp_path, words, trace, stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode in (0, 1), done.stderr
    assert all(line.startswith("iotune: ") for line in done.stderr.splitlines()), done.stderr


@pytest.mark.parametrize("words", ["show TRACE", "show TRACE --calls", "lib", "--help"])
def test_streams_that_are_closed(tmp_path: Path, trace: Path, words: str) -> None:
    for number in (1, 2):
        done = typed(tmp_path, words, trace, preexec_fn=lambda number=number: os.close(number))
        assert done.returncode == 0 and "Traceback" not in done.stderr + done.stdout
        assert not (number == 2 and "iotune:" in done.stdout)


@pytest.mark.parametrize("words", AT_HOME)
def test_a_home_that_cannot_be_read(tmp_path: Path, trace: Path, words: str) -> None:
    # given
    home = tmp_path / "home"
    (home / ".local" / "state" / "iotune" / "traces").mkdir(parents=True)
    home.chmod(0)
    tmp_path.chmod(0o755)
    for above in list(tmp_path.parents)[:3]:
        if above.stat().st_uid == os.getuid() and not above.stat().st_mode & 0o1:
            above.chmod(above.stat().st_mode | 0o11)

    def become_nobody() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    # when
    try:
        done = typed(tmp_path, words, trace, preexec_fn=become_nobody)
    except PermissionError:
        pytest.skip("NOT VERIFIED: a home that cannot be read: nobody may not run this Python")
    finally:
        home.chmod(0o700)
    # then
    if "No module named" in done.stderr or "can't open file" in done.stderr:
        pytest.skip("NOT VERIFIED: a home that cannot be read: nobody may not read this package")
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    usage = done.returncode == 2
    assert usage or is_one_line(done.stderr), done.stderr
    assert "ermission denied" in done.stderr or "not readable" in done.stderr


# The native part is met by every command but these.
NATIVE = [
    words for words in PRINTING if "--help" not in words and words not in ("--version", "lib")
]
RAISING = """
import iotune.core, sys
def fail(*_): raise {problem}
iotune.core.native_part = fail
from iotune.entry import main
main()
"""


@pytest.mark.parametrize("words", NATIVE)
def test_an_interrupt(tmp_path: Path, trace: Path, words: str) -> None:
    done = typed(tmp_path, words, trace, RAISING.format(problem="KeyboardInterrupt"))
    assert done.returncode == 130 and done.stderr == "iotune: interrupted\n", done.stderr


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        ("MemoryError", "iotune: there is not enough memory\n"),
        ("RecursionError", "iotune: the input is nested too deeply\n"),
        ("OSError(5, 'Input/output error', '/mnt/x')", "iotune: /mnt/x: Input/output error\n"),
    ],
)
def test_what_no_command_expects(tmp_path: Path, trace: Path, problem: str, text: str) -> None:
    for words in ("show TRACE", "show TRACE --calls", "export TRACE -o -"):
        done = typed(tmp_path, words, trace, RAISING.format(problem=problem))
        assert done.returncode == 1 and done.stderr == text, done.stderr


def test_a_fault_of_our_own_says_where_and_how_to_see_more(tmp_path: Path, trace: Path) -> None:
    fault = RAISING.format(problem="KeyError('a\\nb')")
    done = typed(tmp_path, "show TRACE", trace, fault)
    assert done.returncode == 1 and is_one_line(done.stderr), done.stderr
    assert "KeyError" in done.stderr and "python -X dev" in done.stderr
    environment = {**os.environ, "PYTHONDEVMODE": "1"}
    done = typed(tmp_path, "show TRACE", trace, fault, env=environment)
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("begin", ["[", '{"patterns": [', '{"a":'])
def test_a_document_that_is_nested_deeply(tmp_path: Path, trace: Path, begin: str) -> None:
    (tmp_path / "deep.json").write_text(begin * 200_000)
    done = typed(tmp_path, "db import deep.json --format json", trace)
    assert done.returncode == 1 and is_one_line(done.stderr), done.stderr[:300]
    assert "deep.json" in done.stderr
