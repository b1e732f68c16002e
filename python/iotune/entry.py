"""The entry point: `iotune lib`, `--help` and `show TRACE` are done here, all else by iotune.cli.

A launch script calls `iotune lib` for each job, so that it must not wait for what it does not use:
neither the parser of options nor the native part is imported for it. What is typed most often is as
quick as it can be.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from iotune.talk import failing_in_one_line, prepare_streams


def main() -> None:
    """Do what the command line says. Neither this process nor one that it starts is watched."""
    prepare_streams()
    # What a command builds of a large run stays until it ends: to look for cycles in it was a
    # quarter of `advise`.
    gc.set_threshold(200_000)
    with failing_in_one_line():
        _leave_preload()
        if "_IOTUNE_COMPLETE" in os.environ:  # a shell asks what may stand next
            from iotune.terminal.completion import complete

            complete()
        words = _spelt(sys.argv[1:])
        if words in ([], ["-h"], ["--help"]):
            from iotune.command_table import help_text

            print(help_text(), end="")
            sys.stdout.flush()
            sys.exit(0 if words else 2)
        if words in (["lib"], ["lib", "--include"]):
            from iotune.launch.lib_path import print_path

            print_path(include=len(words) == 2)
            return
        if words[:1] == ["show"] and _names_a_trace_alone(words[1:]):
            from pathlib import Path

            from iotune.reports.show_run import show_patterns

            show_patterns(Path(words[1]) if words[1:] else None)
            return
        from iotune.cli import run_command

        run_command(words)


def _leave_preload() -> None:
    """Take iotune's library out of this process's work and of its children's environment.

    Programs that a command is to watch get it again (iotune.launch.start).
    """
    preloaded = os.environ.get("LD_PRELOAD", "")
    if "libiotune.so" not in preloaded:
        return
    # As the dynamic linker splits it.
    kept = [path for path in preloaded.replace(" ", ":").split(":") if "libiotune.so" not in path]
    os.environ["LD_PRELOAD"] = ":".join(path for path in kept if path)
    if not os.environ["LD_PRELOAD"]:
        del os.environ["LD_PRELOAD"]
    # It may be no library that is loaded here: then there is no such function.
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).iotune_leave_this_process()


def _spelt(words: list[str]) -> list[str]:
    """The words as the parser knows them: of help and version there are other spellings."""
    if words in (["version"], ["-V"]):
        return ["--version"]
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return words


def _names_a_trace_alone(words: list[str]) -> bool:
    """Whether there are no options: no parser is needed, which takes longer than the rest."""
    return not words or (len(words) == 1 and bool(words[0]) and not words[0].startswith("-"))
