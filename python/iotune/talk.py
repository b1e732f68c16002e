"""How iotune speaks: data on stdout, talk on stderr, one line for a failure.

Every command comes through here, `iotune lib` of each launch too: nothing large is imported.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from iotune.errors import Error

# Names of programs and files, and words of a database, are anybody's: a terminal obeys some.
_ORDERS = {number: f"\\x{number:02x}" for number in (*range(32), *range(127, 160))}
# These change the direction or the lines of what stands around them.
_ORDERS |= {
    number: f"\\u{number:04x}"
    for number in (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
}
_ORDERS_BUT_LINES = {number: text for number, text in _ORDERS.items() if chr(number) not in "\t\n"}
STDOUT = "stdout"  # its name in messages
INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended


def printable(text: str, lines: bool = False) -> str:
    """Control characters as text; with `lines` all but tabs and ends of lines.

    On a terminal also bytes that are not UTF-8: some terminals obey those from 0x80 on.
    """
    escaped = text.translate(_ORDERS_BUT_LINES if lines else _ORDERS)
    if not escaped.isascii() and sys.stdout is not None and sys.stdout.isatty():
        escaped = escaped.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return escaped


def say(text: str) -> None:
    """Talk: one line on stderr. Where that is closed or full there is nobody to read it."""
    if sys.stderr is None:
        return
    if sys.stdout is not None:
        # In a log of both, what was printed before stands before. A failure is reported at the end.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        print(f"iotune: {printable(text, lines=True)}", file=sys.stderr, flush=True)


def next_command(*words: str, why: str = "") -> None:
    """Name the command to type next; `why` in a few words."""
    import shlex

    say("next: " + shlex.join(words) + (f"   ({why})" if why else ""))


def data(text: str = "") -> None:
    """A line of the command's result, on stdout."""
    print(printable(text))


def document(text: str) -> None:
    """A result that programs read, on stdout: as it is, but for a terminal."""
    print(printable(text, lines=True) if sys.stdout.isatty() else text)


def print_json(schema: str, value: Any) -> None:
    """A result for programs, on stdout. schema: its name in iotune/schemas, which tests hold."""
    print(json_text(schema, value))


def json_text(schema: str, value: Any) -> str:
    """What `--json` prints."""
    import json

    return json.dumps(value, indent=2)


class _Stdout(io.FileIO):
    """Descriptor 1, whose failures say that they are its own."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as problem:
            problem.filename = STDOUT
            raise


def prepare_streams() -> None:
    """Paths are bytes: what is not UTF-8 in them passes through as it is."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    else:
        binary = io.BufferedWriter(_Stdout(sys.stdout.fileno(), "w", closefd=False))
        lines = sys.stdout.isatty()
        sys.stdout = io.TextIOWrapper(binary, "utf-8", "surrogateescape", line_buffering=lines)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="surrogateescape")


def failure_status(problem: BaseException) -> int:
    """Say in one line what went wrong; the exit status for it."""
    if isinstance(problem, BrokenPipeError):
        # `iotune show | head`: the reader has enough.
        _drop_stdout()
        return 0
    if isinstance(problem, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    if isinstance(problem, OSError) and problem.filename == STDOUT:
        _drop_stdout()
    say(_in_one_line(problem))
    return 1


def _in_one_line(problem: BaseException) -> str:
    if isinstance(problem, Error):
        return " ".join(str(problem).splitlines())
    if isinstance(problem, OSError):
        text = problem.strerror or str(problem)
        return f"{os.fsdecode(problem.filename)}: {text}" if problem.filename else text
    if isinstance(problem, MemoryError):
        return "there is not enough memory"
    if isinstance(problem, RecursionError):
        return "the input is nested too deeply"
    at = problem.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = ""
    if at is not None:
        where = f", {os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"
    said = " ".join(str(problem).split())
    return (
        f"a fault of iotune's own ({type(problem).__name__}: {said}{where}); "
        "python -X dev -m iotune shows all of it"
    )


@contextlib.contextmanager
def failing_in_one_line(
    leave: Callable[[int], BaseException] = SystemExit,
    passing: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Turn what goes wrong inside into one line and `leave(status)`, stdout's last bytes too.

    SystemExit and `passing` pass. A fault of our own keeps its traceback under -X dev.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except passing:
        raise
    except (Exception, KeyboardInterrupt) as problem:
        known = (Error, OSError, KeyboardInterrupt, MemoryError, RecursionError)
        if not isinstance(problem, known) and sys.flags.dev_mode:
            raise
        raise leave(failure_status(problem)) from None


def _drop_stdout() -> None:
    """What is left in the buffer would fail once more at the interpreter's end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
