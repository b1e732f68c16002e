"""The command `iotune`. One module a subcommand; its docstring is the help."""

import shlex
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any, Optional

import typer

from iotune import __version__
from iotune.cli.output import next_command, say
from iotune.command_table import COMMANDS, PROGRAM_HELP
from iotune.entry import main
from iotune.errors import Error

__all__ = ["application", "main", "run_command"]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"iotune {__version__}")
        next_command("iotune", "--help")
        raise typer.Exit()


def iotune(
    version: Annotated[
        Optional[bool],
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = None,
) -> None:
    """Take the options that stand before a command."""


def _help(text: Optional[str]) -> str:
    """A docstring for click: its indented paragraphs are examples and keep their lines."""
    paragraphs = (text or "").strip("\n").split("\n\n")
    return "\n\n".join(
        ("\b\n" if paragraph.startswith("  ") else "") + paragraph for paragraph in paragraphs
    )


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands; the modules of no others are imported.

    Among several, one is left out whose extra is not installed: alone it says what is missing.
    """
    names = list(names)
    app = typer.Typer(
        name="iotune",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=PROGRAM_HELP)(iotune)
    for name in names:
        module, short = COMMANDS[name]
        try:
            one = import_module(module)
        except Error:
            if len(names) == 1:
                raise
            continue
        if name == "db":
            for more in ("db_exchange", "db_history"):  # they add their commands to it
                import_module(f"iotune.cli.{more}")
        if hasattr(one, "app"):
            app.add_typer(one.app, name=name, help=_help(one.__doc__), short_help=short)
        else:
            settings = {"context_settings": one.CONTEXT} if hasattr(one, "CONTEXT") else {}
            app.command(name=name, help=_help(one.__doc__), short_help=short, **settings)(
                one.command
            )
    return app


def __getattr__(name: str) -> Any:
    if name == "app":  # with all commands
        globals()[name] = application()
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run_command(words: Sequence[str]) -> None:
    """Run a command line; ends by SystemExit."""
    # A replay's files are removed on the way out.
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    known = words and words[0] in COMMANDS
    if words and not known and not words[0].startswith("-") and shutil.which(words[0]):
        say(f"there is no command {words[0]}, but a program: iotune run -- {shlex.join(words)}")
        sys.exit(2)
    # The version needs no command.
    needed = () if list(words) == ["--version"] else [words[0]] if known else COMMANDS
    application(needed)(list(words), prog_name="iotune")
