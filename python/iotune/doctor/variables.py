"""The variables of docs/environment.md, and what is wrong with the values that are set."""

from __future__ import annotations

import difflib
import os
import xml.etree.ElementTree as xml
from collections.abc import Mapping
from pathlib import Path

from iotune.doctor.check import FAILS, PARTLY, WORKS, Check

_ANY = ()
# Name -> its words, or the least and the most MiB, or nothing to look at.
KNOWN: dict[str, tuple[str, ...] | tuple[int, int]] = {
    "IOTUNE_MODE": ("tune", "record", "off"),
    "IOTUNE_CONFIG": _ANY,
    "IOTUNE_DB": _ANY,
    "IOTUNE_SITE_CONFIG": _ANY,
    "IOTUNE_PREFETCH": ("none", "pattern", "he2013", "markov", "recorded"),
    "IOTUNE_PREFETCH_SCHEDULE": ("none", "pp", "ppis", "ours"),
    "IOTUNE_PREFETCH_DELIVERY": ("hint", "cache"),
    "IOTUNE_PREFETCH_MEMORY_MIB": (1, 16384),
    "IOTUNE_GATHER": ("memory", "log", "stored", "no"),
    "IOTUNE_LOGSTORE": _ANY,
    "IOTUNE_LOGSTORE_CLOSE": ("flatten", "compact", "keep"),
    "IOTUNE_DB_SHARED": _ANY,
    "IOTUNE_EXPLORE": ("off",),
    "IOTUNE_LEARN_MS": (0, 1 << 31),
    "IOTUNE_VERBOSE": _ANY,
    "IOTUNE_TRACE": _ANY,
    "IOTUNE_TIMING": ("pattern", "call", "exact"),
    "IOTUNE_RECORD": ("all", "sample"),
    "IOTUNE_ORDER": ("0", "1"),
    "IOTUNE_INCLUDE": _ANY,
    "IOTUNE_EXCLUDE": _ANY,
    "IOTUNE_EXCLUDE_PROGRAMS": _ANY,
    "IOTUNE_KEEP_ABOVE_MIB": (0, 1048575),
    "IOTUNE_BUFFER_DIR": _ANY,
    "IOTUNE_MEMORY_MIB": (0, 1 << 31),
    "IOTUNE_SPILL_LIMIT_MIB": (0, 1 << 31),
    "IOTUNE_BUFFER_LIMIT_MIB": (1, 1048575),
    "IOTUNE_MERGE_ABOVE_MIB": (0, 1 << 31),
    "IOTUNE_RUN_ID": _ANY,
    "IOTUNE_RUN_SEEN": _ANY,
    "IOTUNE_RUN_OWNER": _ANY,
    "IOTUNE_LAUNCHER": _ANY,
    "IOTUNE_LIB": _ANY,
    "IOTUNE_REPLAY": _ANY,
    "IOTUNE_REPLAYER_DIR": _ANY,
    "IOTUNE_MPIRUN": _ANY,
    "IOTUNE_MPICC": _ANY,
    "IOTUNE_HDF5_PKG": _ANY,
    "IOTUNE_YIELD_SLEEP_NS": _ANY,
}
_PAGE = "docs/environment.md has all names and values"


def variable_checks(environment: Mapping[str, str] | None = None) -> list[Check]:
    """One for each fault; one that has none where there is no fault."""
    given = os.environ if environment is None else environment
    names = sorted(name for name in given if name.startswith("IOTUNE_"))
    found = [check for name in names if (check := _fault_of(name, given[name]))]
    if found:
        return found
    said = f"{', '.join(names)}: understood" if names else "no variable of iotune's is set"
    return [Check("variables", WORKS, said)]


def _fault_of(name: str, value: str) -> Check | None:
    if name not in KNOWN:
        close = difflib.get_close_matches(name, KNOWN, 1)
        todo = f"did you mean {close[0]}? {_PAGE}" if close else f"unset it; {_PAGE}"
        return Check("variables", PARTLY, "nothing of iotune reads it", todo, name)
    allowed = KNOWN[name]
    fault = ""
    if not value and name != "IOTUNE_MODE":
        return None
    if allowed and isinstance(allowed[0], str):
        if value not in allowed:
            fault = f"{value!r} is none of {', '.join(map(str, allowed))}"
    elif allowed:
        least, most = int(allowed[0]), int(allowed[1])
        if not value.isdigit() or not least <= int(value) <= most:
            fault = f"{value!r} is no whole number from {least} to {most}"
    else:
        fault = _fault_of_place(name, value)
    if not fault:
        return None
    if name == "IOTUNE_MODE":
        return Check(
            "variables", FAILS, f"{fault}: it counts as off", "unset it, or say tune", name
        )
    if name == "IOTUNE_CONFIG":
        return Check("variables", FAILS, f"{fault}: nothing is tuned", "mend it, or unset it", name)
    return Check("variables", PARTLY, f"{fault}: it counts as not set", f"mend it; {_PAGE}", name)


def _fault_of_place(name: str, value: str) -> str:
    """What is wrong with a path, or a list of them."""
    if name == "IOTUNE_CONFIG":
        try:
            xml.parse(value)
        except OSError as problem:
            return f"{value}: {problem.strerror}"
        except xml.ParseError as problem:
            return f"{value}: {problem}"
    if name == "IOTUNE_TRACE" and not Path(value).absolute().parent.is_dir():
        return f"{value}: there is no such folder"
    if name in ("IOTUNE_INCLUDE", "IOTUNE_EXCLUDE"):
        wrong = [one for one in value.split(":") if one and not one.startswith(("/", "*"))]
        if wrong:
            return f"{wrong[0]} begins with neither / nor *, and matches nothing"
    if name == "IOTUNE_LOGSTORE":
        wrong = [one for one in value.split(":") if one and not one.startswith("/")]
        if wrong:
            return f"{wrong[0]} is no absolute path"
    return ""
