"""Arrays of numbers to the native part and back; NumPy is needed for the way back alone."""

from __future__ import annotations

import array
import importlib
from collections.abc import Iterable
from typing import Any

from iotune.errors import Error

Integers = Iterable[int]


def int64_buffer(values: Integers, what: str) -> Any:
    """A buffer of int64: the caller's own where it is one, else a copy. Raises Error."""
    if hasattr(values, "__array_interface__"):
        dtype = str(values.__array_interface__["typestr"])  # such as "<i8"
        if dtype[1] not in "iu":
            raise Error(f"{what} must be integers that fit into int64, not {dtype}")
        if dtype[1:] == "u8" and values.size > 0 and values.max() >= 1 << 63:  # type: ignore[attr-defined]
            raise Error(f"{what} must be integers below 2^63")
        return values.astype("int64", copy=False)  # type: ignore[attr-defined]
    if isinstance(values, array.array) and values.typecode in ("q", "l"):
        return values
    try:
        return array.array("q", values)
    except (TypeError, ValueError, OverflowError):
        raise Error(f"{what} must be integers of at most 64 bits") from None


def whole_number(value: int) -> int:
    """What fits into int64 as one of Python's. Raises Error."""
    try:
        number = value.__index__()
    except AttributeError:
        raise Error(f"{value!r} is no whole number") from None
    if not -(2**63) <= number < 2**63:
        raise Error(f"{number} does not fit into 64 bits")
    return number


def name_bytes(name: str) -> bytes:
    """A name as the native part has it: of files any bytes, as os.fsdecode reads them."""
    try:
        return name.encode("utf-8", "surrogateescape")
    except (AttributeError, UnicodeError):
        raise Error(f"{name!r} is no name") from None


def numpy_array(numbers: Any) -> Any:
    """The native part's numbers as an array of NumPy's, without a copy. Raises Error."""
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        raise Error("arrays need NumPy: pip install numpy") from None
    return numpy.asarray(memoryview(numbers))
