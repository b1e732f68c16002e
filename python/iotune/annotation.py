"""Regions of a Python program: what `iotune.annotate` is made of. Imports nothing of the package.

The native part of it is libiotune.so where that is preloaded (include/iotune.h).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

F = TypeVar("F", bound=Callable[..., Any])

# Of a region without one: IOTUNE_NO_VALUE.
_NO_VALUE = -(2**63)

_enter: Callable[[bytes, int], object] | None = None
_leave: Callable[[bytes], object] | None = None
_looked = False


def _look() -> None:
    """Find libiotune.so's functions; where it is not preloaded there are none."""
    global _enter, _leave, _looked
    try:
        import ctypes

        # They return at once: the interpreter's lock is kept.
        preloaded = ctypes.PyDLL(None)
        enter, leave = preloaded.iotune_region_enter, preloaded.iotune_region_leave
        enter.argtypes = (ctypes.c_char_p, ctypes.c_longlong)
        leave.argtypes = (ctypes.c_char_p,)
        _enter, _leave = enter, leave
    except (ImportError, OSError, AttributeError):
        pass
    _looked = True


class annotate:  # noqa: N801 - used as a function is
    """A region of the program, as a context manager and as a decorator.

    >>> import iotune
    >>> for number in range(3):
    ...     with iotune.annotate("epoch", number):
    ...         pass
    >>> @iotune.annotate("load")
    ... def load(path): ...

    `iotune show` tells for each name how often it was entered, how long that took, and what was
    read and written meanwhile by the same thread. Regions may lie inside each other. `value` is a
    whole number that tells this entry from the others. Where iotune is not preloaded nothing
    happens. A process that was forked inside of a region has no region open.

    Raises TypeError for a name that is no text and a value that is no whole number, and
    OverflowError for a value of more than 64 bits.
    """

    __slots__ = ("_name", "_value")

    def __init__(self, name: str, value: SupportsIndex | None = None):
        if not isinstance(name, str):
            raise TypeError(f"a region's name is a text, not {type(name).__name__}")
        # The name ends where a zero byte would.
        self._name = name.encode("utf-8", "surrogateescape").split(b"\0", 1)[0]
        self._value = _NO_VALUE if value is None else operator.index(value)
        if not -(2**63) <= self._value < 2**63:
            raise OverflowError(f"region {name!r}: a value has 64 bits at most")
        if not _looked:
            _look()

    def __enter__(self) -> annotate:
        if _enter is not None:
            _enter(self._name, self._value)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if _leave is not None:
            _leave(self._name)

    def __call__(self, function: F) -> F:
        """The function with a region around each of its calls.

        Of a generator and of a coroutine only what happens when it is called is inside: their
        bodies run in turns with others of the thread. Mark within them what does not yield.
        """

        @wraps(function)
        def marked(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return marked  # type: ignore[return-value]
