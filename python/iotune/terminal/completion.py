"""Print what a shell reads to complete iotune's commands and options.

  iotune completion bash > ~/.local/share/bash-completion/completions/iotune
  iotune completion zsh > "${fpath[1]}/_iotune"
  iotune completion fish > ~/.config/fish/completions/iotune.fish

Without a name the shell is $SHELL's. New shells read it.
"""

import os
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import errors_in_one_line
from iotune.talk import document, next_command

SHELLS = ("bash", "zsh", "fish")
# The shell's script sets it when it asks for words; the parser of options reads it.
VARIABLE = "_IOTUNE_COMPLETE"


@errors_in_one_line
def command(
    shell: Annotated[Optional[str], typer.Argument(help="bash, zsh or fish.")] = None,
) -> None:
    """Print the script."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    name = Path(os.environ.get("SHELL", "")).name if shell is None else shell
    if name not in SHELLS:
        what = f"{name!r} is another" if name else "$SHELL is not set"
        known = ", ".join(SHELLS)
        raise typer.BadParameter(f"{what}: name one of {known}", param_hint="SHELL")
    script = get_completion_script(prog_name="iotune", complete_var=VARIABLE, shell=name)
    document(script.strip() + "\n")
    next_command("iotune", "completion", "--help")


def asked_command(environment: dict[str, str]) -> str:
    """The first word behind `iotune` in the line that is completed; empty where it is typed now."""
    typed = environment.get("COMP_WORDS") or environment.get("_TYPER_COMPLETE_ARGS") or ""
    words = typed.split()
    under_way = len(words) == 2 and not typed[-1:].isspace()
    return words[1] if len(words) > 1 and not under_way else ""


def complete() -> None:
    """Answer the shell: the words that may stand next, one a line. Ends by SystemExit.

    Only the asked command's module is imported: a key that takes half a second feels broken.
    """
    from typer.completion import completion_init  # type: ignore[attr-defined]

    from iotune.cli import application
    from iotune.command_table import COMMANDS

    completion_init()
    asked = asked_command(dict(os.environ))
    application([asked] if asked in COMMANDS else COMMANDS)([], prog_name="iotune")
