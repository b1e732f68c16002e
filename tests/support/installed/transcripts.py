"""Sessions that pages of docs/ show, played and compared with what the page says.

A page marks what is to be played by comments before fenced blocks:

    <!-- file NAME -->          the block is written to a file of that name
    <!-- session -->            the block's `$ ` lines are run in turn; below each is its output
    <!-- session soak -->       … only in `make soak`
    <!-- session needs CMD -->  … where the shell command CMD succeeds; both words may be there

All blocks of a page are played in one scratch folder, which the page calls /home/ann, without a
terminal, for which tables would lose columns and text would be wrapped by the width of numbers and
paths. Numbers and their units may differ, the width of columns, and the ends of
lines. `…` matches any text.

    python3 tests/run.py tests/support/installed/transcripts.py [--write] docs/tutorial.md…

prints what differs; with --write the page gets the output of this run, but where it leaves lines
out and still is right.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.repository import IOTUNE, KERNELS, ROOT

HOME = "/home/ann"
MARKED = re.compile(
    r"^<!-- (?P<kind>file|session)(?P<words> [^\n]*?)? -->\n\n?```\w*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# From the most particular to the plain number; each becomes one letter.
NUMBER = r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?"
UNIT = r"(?:ns|µs|ms|s|min|h|B|KiB|MiB|GiB|TiB)(?:/s)?"
MASKED = (
    (re.compile(r"\bless than (?=\d)"), ""),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b"), "N"),
    (re.compile(rf"{NUMBER}(?: ?{UNIT}(?![\w]))?"), "N"),
    (re.compile(r"\s+"), " "),
)
SECONDS = 600  # a watchdog, for a machine that is busy


@dataclass
class Command:
    """One command of a session, and the lines that the page shows below it."""

    text: str
    shown: list[str] = field(default_factory=list)


@dataclass
class Block:
    """A marked block: a file to be written, or a session."""

    kind: str
    words: str
    body: str
    span: tuple[int, int]  # of the body in the page

    @property
    def soak(self) -> bool:
        return self.words.split()[:1] == ["soak"]

    @property
    def needs(self) -> str:
        """The shell command that must succeed; empty where there is none."""
        return self.words.partition("needs ")[2]

    def commands(self) -> list[Command]:
        """ValueError where the block begins with no command."""
        found: list[Command] = []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:]))
            elif line.startswith("> ") and found and not found[-1].shown:
                found[-1].text += "\n" + line[2:]
            elif found:
                found[-1].shown.append(line)
            else:
                raise ValueError(f"no command before the line: {line}")
        return found


def blocks(page: str) -> list[Block]:
    """The marked blocks of a page, in its order. ValueError for a mark without a block."""
    found = [
        Block(one["kind"], (one["words"] or "").strip(), one["body"], one.span("body"))
        for one in MARKED.finditer(page)
    ]
    if len(found) != len(re.findall(r"^<!-- (?:file|session)\b", page, re.MULTILINE)):
        raise ValueError("a mark without a fenced block behind it")
    return found


def masked(line: str) -> str:
    for pattern, letter in MASKED:
        line = pattern.sub(letter, line)
    return line.strip()


def matches(shown: list[str], got: list[str]) -> bool:
    """Whether a page's lines stand for the lines that a command printed.

    Where lines end does not count: text is wrapped by the width of numbers and paths in it.
    """
    parts = (re.escape(masked(part)) for part in "\n".join(shown).split("…"))
    return re.fullmatch(r"\s*.*?\s*".join(parts), masked("\n".join(got)), re.DOTALL) is not None


def environment(home: Path) -> dict[str, str]:
    """A newcomer's: no settings of iotune, and the command on PATH."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IOTUNE_", "XDG_", "LD_", "PYTHON"))
    }
    path = f"{IOTUNE.parent}:{KERNELS}:{kept.get('PATH', '')}"
    # Neither what other runs of this user left nor what this one leaves meets the other.
    buffers = f"/dev/shm/iotune-docs-{os.getpid()}"
    return {
        **kept,
        **{"HOME": str(home), "PATH": path, "IOTUNE_BUFFER_DIR": buffers},
        **{"LC_ALL": "C.UTF-8"},
        # Open MPI as on a user's machine with enough cores.
        **{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        **{"OMPI_MCA_rmaps_base_oversubscribe": "1"},
    }


def run(command: str, home: Path) -> list[str]:
    """Run a command, and return the lines that it wrote to stdout and stderr."""
    try:
        said = subprocess.run(
            ["bash", "-c", command],
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        ).stdout
    except subprocess.TimeoutExpired as problem:
        said = (problem.stdout or b"") + f"\nnot at its end after {SECONDS} s\n".encode()
    lines = [line.rstrip() for line in said.decode(errors="replace").splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return [line.replace(str(home), HOME) for line in lines]


def missing(block: Block, home: Path) -> bool:
    """Whether this machine lacks what the session needs."""
    return bool(block.needs) and (
        subprocess.run(
            ["bash", "-c", block.needs], env=environment(home), capture_output=True
        ).returncode
        != 0
    )


def play(page: str, home: Path, soak: bool = False) -> Iterator[tuple[Block, Command, list[str]]]:
    """Play a page in an empty folder; yield each command with the lines that it printed.

    A session that cannot be played here is said to be NOT VERIFIED and left out.
    """
    for block in blocks(page):
        if block.kind == "file":
            (home / block.words).write_text(block.body)
        elif block.soak and not soak:
            continue
        elif missing(block, home):
            print(f"NOT VERIFIED: a session of the docs: there is no: {block.needs}")
        else:
            for command in block.commands():
                yield block, command, run(command.text, home)


def differences(page: str, home: Path, soak: bool = False) -> list[str]:
    """What a page shows differently from what happens, in words."""
    wrong = []
    for _, command, got in play(page, home, soak):
        if not matches(command.shown, got):
            shown, said = "\n".join(command.shown), "\n".join(got)
            wrong.append(f"$ {command.text}\nthe page shows:\n{shown}\nprinted:\n{said}\n")
    return wrong


def rewritten(page: str, home: Path) -> str:
    """The page with the outputs of a run that are not what it shows."""
    bodies: dict[tuple[int, int], str] = {}
    for block, command, got in play(page, home, soak=True):
        shortened = "…" in "".join(command.shown)
        lines = command.shown if shortened and matches(command.shown, got) else got
        text = "$ " + command.text.replace("\n", "\n> ")
        bodies[block.span] = bodies.get(block.span, "") + "\n".join([text, *lines]) + "\n"
    for (start, end), body in sorted(bodies.items(), reverse=True):
        page = page[:start] + body + page[end:]
    return page


def main(words: list[str]) -> int:
    status = 0
    for name in (word for word in words if word != "--write"):
        page = ROOT / name
        with tempfile.TemporaryDirectory() as folder:
            if "--write" in words:
                page.write_text(rewritten(page.read_text(), Path(folder)))
            elif wrong := differences(page.read_text(), Path(folder), soak=True):
                print(f"{name}:", *wrong, sep="\n")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
