"""A shell that read `iotune completion` completes commands, options and files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
# What bash does at the key, without a terminal: the words, which one is typed, the function.
ASK = """
source <(iotune completion bash 2> /dev/null)
COMP_WORDS=({words}) COMP_CWORD={at}
_iotune_completion iotune
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def bash(words: str, at: int) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", ASK.format(words=words, at=at)],
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return done.stdout.split()


def asked(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "iotune", "completion", *words], env={**os.environ, **more},
        capture_output=True, text=True,
    )  # fmt: skip


def test_bash_completes_commands_options_and_commands_of_commands() -> None:
    assert bash("iotune sh", 1) == ["show"]
    assert {"--calls", "--call"} <= set(bash("iotune show --c", 2))
    assert {"ls", "flatten", "map"} <= set(bash("iotune log ''", 2))
    assert bash("iotune log fl", 2) == ["flatten"]
    assert bash("iotune replayer ''", 2) == ["build", "list"]
    assert bash("iotune replayer build --in", 3) == ["--into"]
    assert "--install-completion" not in bash("iotune --", 1)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    done = asked(shell)
    assert done.returncode == 0 and "_IOTUNE_COMPLETE" in done.stdout, done
    assert asked(SHELL=f"/usr/bin/{shell}").stdout == done.stdout


def test_an_unknown_shell_is_named_with_the_known_ones() -> None:
    for done in (asked("tcsh"), asked(SHELL="/bin/tcsh")):
        assert done.returncode == 2 and not done.stdout
        assert "'tcsh'" in done.stderr and "bash, zsh, fish" in done.stderr, done.stderr
