"""Lines of a log in bounded memory, and numbers in them."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from iotune.errors import Error

MOST_LINE_BYTES = 64 << 10  # a path has 4 KiB at most
UTF8_MARK = b"\xef\xbb\xbf"  # before the first line of some tools' text
LARGEST_OFFSET = (1 << 63) - 1  # and where an access ends: off_t
LARGEST_TIME_NS = 1 << 62
_SECONDS = re.compile(rb"(\d{1,10})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?")
_FLOAT = re.compile(rb"(\d{1,20})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?")
_GZIP = b"\x1f\x8b"


class Malformed(ValueError):
    """What is wrong with a line or record; who reads it adds where."""


def open_log(path: Path) -> IO[bytes]:
    """The log's bytes; of one that gzip packed those that are in it. Raises OSError."""
    file = path.open("rb")
    packed = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    if not packed:
        return file
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file))


def is_packed(path: Path) -> bool:
    """Whether gzip packed it. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def lines_of(
    path: Path,
    most_bytes: int = MOST_LINE_BYTES,
    with_ends: bool = False,
    behind: tuple[int, int] = (0, 0),
) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line. Raises Error for one that is too long or no text.

    `behind`: bytes and lines that are left out.
    """
    with open_log(path) as file:
        file.seek(behind[0])
        number = behind[1]
        while True:
            try:
                line = file.readline(most_bytes + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
                raise Error(
                    f"{path}:{number + 1}: packed by gzip, and damaged: {problem}"
                ) from None
            if not line:
                return
            number += 1
            if len(line) > most_bytes:
                raise Error(f"{path}:{number}: longer than {most_bytes >> 10} KiB: no log")
            if b"\0" in line:
                raise Error(f"{path}:{number}: binary data, no text")
            yield number, line if with_ends else line.rstrip(b"\r\n")


def quoted(word: bytes) -> str:
    """A word for an error message, cut where it is long."""
    text = word[:40].decode("utf-8", "backslashreplace") + ("…" if len(word) > 40 else "")
    return repr(text)


def whole(word: bytes, name: str, least: int = 0, most: int = LARGEST_OFFSET) -> int:
    """An integer within its bounds, also as a table of floats has it (4096.0). Raises Malformed."""
    if not word.isdigit():
        word = _without_exponent(word)
    digits = word[1:] if word[:1] == b"-" else word
    if not digits.isdigit() or len(digits.lstrip(b"0")) > 20:
        raise Malformed(f"{name} is {quoted(word)}, no number")
    value = int(word)
    if not least <= value <= most:
        raise Malformed(f"{name} is {value}, not from {least} to {most}")
    return value


def _without_exponent(word: bytes) -> bytes:
    """4096 of 4096.0 and 4.096e+03; what is no whole number stays as it is."""
    match = _FLOAT.fullmatch(word)
    if match is None:
        return word
    fraction, exponent = (match[2] or b"").rstrip(b"0"), int(match[3] or 0)
    places = exponent - len(fraction)
    digits = match[1] + fraction
    if places >= 0:
        return digits + b"0" * places if places < 25 else word
    cut = len(digits) + places
    if digits[max(cut, 0) :].strip(b"0"):
        return word  # a part of a byte
    return digits[: max(cut, 0)] or b"0"


def seconds_ns(word: bytes, name: str) -> int:
    """Seconds as nanoseconds, exactly: a float cannot hold them. Raises Malformed."""
    match = _SECONDS.fullmatch(word)
    if match is None:
        raise Malformed(f"{name} is {quoted(word)}, no time in seconds")
    fraction, exponent = match[2] or b"", int(match[3] or 0)
    # Of all digits those are kept that stand before the nanosecond's end.
    places = 9 + exponent - len(fraction)
    digits = int(match[1] + fraction)
    scale: int = 10 ** abs(places)
    value = digits * scale if places >= 0 else digits // scale
    if value > LARGEST_TIME_NS:
        raise Malformed(f"{name} is {quoted(word)}: too late")
    return value
