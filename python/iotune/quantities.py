"""Times and sizes as users write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from iotune.errors import Error

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_BYTES = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1024, "mi": 1024**2, "gi": 1024**3}


def duration_ns(text: str) -> int:
    """`2ms`, `500 us`, `0.5s` in nanoseconds. Raises Error."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(ns|us|µs|ms|s)\s*", text)
    if match is None:
        raise Error(f"{text!r} is no time: write it as 2ms, 500us or 0.5s")
    return round(float(match[1]) * _SECONDS[match[2]] * 1e9)


def duration_seconds(text: str) -> float:
    """`90s`, `10m` or `1h30m` in seconds, more than none. Raises Error."""
    match = re.fullmatch(r"\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+)s?)?\s*", text.lower())
    seconds = 0
    if match is not None:
        hours, minutes, rest = (int(part or 0) for part in match.groups())
        seconds = 3600 * hours + 60 * minutes + rest
    if seconds <= 0:
        raise Error(f"{text!r} is no duration: write it as 90s, 10m or 1h30m")
    return float(seconds)


def size_bytes(text: str) -> int:
    """`64MiB`, `1 GB` or `4096` in bytes, more than none. Raises Error."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmg]i?)?b?\s*", text.lower())
    size = 0 if match is None else round(float(match[1]) * _BYTES[match[2] or ""])
    if size <= 0:
        raise Error(f"{text!r} is no size: write it as 64MiB or 1GB")
    return size


def bytes_a_second(text: str) -> int:
    """`20MB/s`, `1 GiB/s` or `4096` in bytes a second, more than none. Raises Error."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmg]i?)?(?:b)?(?:/s)?\s*", text.lower())
    rate = 0 if match is None else round(float(match[1]) * _BYTES[match[2] or ""])
    if rate <= 0:
        raise Error(f"{text!r} is no bandwidth: write it as 20MB/s or 1GiB/s")
    return rate


@dataclass
class Budget:
    """What a training may use: whatever is used first ends it. None: no limit."""

    seconds: float | None = None
    runs: int | None = None
    bytes: int | None = None
    candidates: int | None = None  # of each pattern

    def text(self) -> str:
        """In words: "at most 1800 s, 40 runs"."""
        parts = [] if self.seconds is None else [f"{self.seconds:.0f} s"]
        parts += [] if self.runs is None else [f"{self.runs} runs"]
        parts += [] if self.bytes is None else [f"{self.bytes >> 20} MiB"]
        return f"at most {', '.join(parts)}" if parts else "without a limit"


def budget_of(words: Iterable[str]) -> Budget:
    """`12` (candidates of a pattern), `300runs`, `8h`, `20GiB`, one of each kind. Raises Error."""
    budget = Budget()
    for word in words:
        text = word.strip().lower()
        counted = re.fullmatch(r"(\d+)\s*(runs?)?", text)
        if counted is not None and int(counted[1]) > 0:
            name, value = ("runs" if counted[2] else "candidates"), int(counted[1])
        elif re.fullmatch(r"(\d+[hms])+", text.replace(" ", "")):
            name, value = "seconds", duration_seconds(text)  # type: ignore[assignment]
        elif re.fullmatch(r"[0-9.]+\s*[kmg]i?b", text):
            name, value = "bytes", size_bytes(text)
        else:
            raise Error(f"{word!r} is no budget: write it as 12, 300runs, 8h or 20GiB")
        setattr(budget, name, value)
    return budget
