"""Texts without the names of people, hosts and private places.

Users and hosts by what this system says of them; paths by their form: of a file that is not the
system's the folder becomes a number, the same for the same folder, and its own name stays.
"""

from __future__ import annotations

import getpass
import os
import pwd
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

# Below these lie the system's and a site's software, whose places a supporter needs.
_PUBLIC = (
    "/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/sys", "/dev", "/opt", "/run",
)  # fmt: skip
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*")
_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_ADDRESS_6 = re.compile(r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w.~>/-])/(?:[^\s:;,'\"()<>|`=*?\[\]{}]+)")
_LEAST_NAME = 2


def user_names() -> list[str]:
    """What this user is called, here and by the batch system."""
    found = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")]
    with suppress(KeyError, OSError, ImportError):
        found.append(getpass.getuser())
    with suppress(KeyError):
        entry = pwd.getpwuid(os.getuid())
        # A full name of several words also by each of them.
        real = entry.pw_gecos.split(",")[0]
        found += [entry.pw_name, real, *real.split()]
    return _longest_first(found)


def homes() -> list[str]:
    """The user's home folder by all of its names."""
    found = [os.environ.get("HOME", ""), os.path.expanduser("~")]
    with suppress(KeyError):
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    found += [os.path.realpath(one) for one in found if one]
    return [one for one in _longest_first(found) if one not in ("/", "")]


def host_names() -> list[str]:
    """Names of this host, with and without its domain, and of the batch system's nodes."""
    found = [socket.gethostname(), os.uname().nodename, os.environ.get("HOSTNAME", "")]
    found += [os.environ.get(name, "") for name in ("SLURMD_NODENAME", "SLURM_SUBMIT_HOST")]
    with suppress(OSError):
        found.append(socket.getfqdn())
    short = [one.partition(".")[0] for one in found]
    domains = [one.partition(".")[2] for one in found]
    return [one for one in _longest_first([*found, *short, *domains]) if one != "localhost"]


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted({one for one in names if len(one) >= _LEAST_NAME}, key=len, reverse=True)


class Scrubber:
    """Replaces private names in texts; the same name by the same word in all of them."""

    def __init__(self, hosts: Iterable[str] = (), paths: Iterable[str] = ()):
        """`hosts` and `paths` are private too: those of a trace, which may have blanks."""
        self._folders: dict[str, str] = {}
        self._homes = homes()
        self._paths = [one for one in _longest_first(paths) if not _is_public(one)]
        self._hosts = _any_of(_longest_first([*host_names(), *hosts]))
        self._users = _any_of(user_names())

    def text(self, text: str) -> str:
        """The text without private names."""
        for path in self._paths:
            if path in text:
                text = text.replace(path, self._path(path))
        for home in self._homes:
            text = re.sub(re.escape(home) + r"(?![\w.-])", "<home>", text)
        text = _MAIL.sub("<mail>", text)
        text = _PATH.sub(lambda found: self._path(found[0]), text)
        for pattern, word in ((self._hosts, "<host>"), (self._users, "<user>")):
            text = pattern.sub(word, text) if pattern is not None else text
        return _ADDRESS_6.sub("<address>", _ADDRESS.sub("<address>", text))

    def values(self, value: Any) -> Any:
        """Plain values with all their texts scrubbed; keys stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.values(one) for key, one in value.items()}
        return [self.values(one) for one in value] if isinstance(value, list) else value

    def _path(self, path: str) -> str:
        if _is_public(path):
            return path
        folder, _, name = path.rstrip("/").rpartition("/")
        if not folder:  # /tmp and its like
            return path
        number = self._folders.setdefault(folder, f"<folder {len(self._folders) + 1}>")
        return f"{number}/{name}"


def _is_public(path: str) -> bool:
    return any(path == one or path.startswith(one + "/") for one in _PUBLIC)


def _any_of(names: list[str]) -> re.Pattern[str] | None:
    """Any of the names as a word of its own: ann is not in annotate, and is in run_ann_2."""
    if not names:
        return None
    words = "|".join(re.escape(one) for one in names)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", re.IGNORECASE)
