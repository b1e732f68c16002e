"""The native part, `iotune._core`, imported when it is first asked for anything.

Its functions and classes are this module's: _core.pyi has their types and says what they do. What
fails raises iotune.Error, also where the extension is missing.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from iotune.errors import Error

if TYPE_CHECKING:
    from iotune._core import *  # noqa: F403


def native_part() -> ModuleType:
    """The extension, or Error that says so plainly."""
    try:
        return importlib.import_module("iotune._core")
    except ImportError as problem:
        raise Error(f"the native part of iotune cannot be loaded ({problem}); reinstall") from None


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(native_part(), name)
