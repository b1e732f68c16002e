"""The generators of recorder/generate, for tests that read recorder/calls.table as they do."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from support.repository import ROOT

__all__ = [
    "LEFT_OUT",
    "PARTS",
    "PSEUDO_CALLS",
    "THINGS",
    "VERBS",
    "WORDS",
    "Argument",
    "Call",
    "TableError",
    "read_table",
]


def _generator(name: str) -> ModuleType:
    """The module of that name in recorder/generate, which is on nobody's search path."""
    if name not in sys.modules:
        path = ROOT / "recorder" / "generate" / f"{name}.py"
        found = importlib.util.spec_from_file_location(name, path)
        assert found is not None and found.loader is not None, path
        # Entered before it runs: its dataclasses look themselves up, and other generators
        # import it by this name.
        sys.modules[name] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    return sys.modules[name]


if TYPE_CHECKING:
    from call_meanings import PARTS, THINGS, VERBS, WORDS, Argument
    from call_signatures import Call, TableError, read_table
    from generate_call_docs import LEFT_OUT
    from generate_call_table import PSEUDO_CALLS
else:
    # In the order in which they import each other.
    _meanings = _generator("call_meanings")
    PARTS, THINGS, VERBS, WORDS, Argument = (
        getattr(_meanings, name) for name in ("PARTS", "THINGS", "VERBS", "WORDS", "Argument")
    )
    _signatures = _generator("call_signatures")
    Call, TableError, read_table = (
        getattr(_signatures, name) for name in ("Call", "TableError", "read_table")
    )
    _generator("call_meaning_source")
    PSEUDO_CALLS = _generator("generate_call_table").PSEUDO_CALLS
    LEFT_OUT = _generator("generate_call_docs").LEFT_OUT
