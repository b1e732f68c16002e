"""A run that is ended with all its processes when its time is over."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

# What a launcher gets to end its ranks; it is killed after that, and who it leaves with it.
_GRACE_SECONDS = 5.0


def run_limited(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `command` without input and keep its output, as subprocess.run does.

    Raises subprocess.TimeoutExpired after `timeout_seconds`, when its process group has ended:
    a launcher that is killed at once leaves its ranks behind, which go on writing. Ends the group
    on any other exception too (a user's Ctrl-C does not reach it). Raises OSError where
    `command` cannot be started.
    """
    with subprocess.Popen(
        list(command),
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as running:
        try:
            out, error = running.communicate(timeout=timeout_seconds)
        except BaseException:
            _end_group(running)
            raise
    return subprocess.CompletedProcess(running.args, running.returncode, out, error)


def _end_group(running: subprocess.Popen[str]) -> None:
    """Who was started as the first of a group of its own, and all of that group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(running.pid, number)
        except ProcessLookupError:
            break
        try:
            running.communicate(timeout=_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
