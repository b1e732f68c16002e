"""Times of a thread's calls, for readers that see by them which call was made inside which."""

from __future__ import annotations


class NestedTimes:
    """A thread's calls in the order of their starts, each before those that were made inside it."""

    def __init__(self) -> None:
        self._around: list[tuple[int, int]] = []  # level and end of the calls around
        self._free_ns = 0  # where the next call beside the last one may begin

    def place(self, level: int, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Where the call goes: interpolated times may overlap, a thread's calls do not."""
        while self._around and self._around[-1][0] >= level:
            self._free_ns = self._around.pop()[1]
        start_ns = max(start_ns, self._free_ns)
        if self._around:
            start_ns = min(start_ns, self._around[-1][1])
            end_ns = min(end_ns, self._around[-1][1])
        end_ns = max(start_ns, end_ns)
        self._around.append((level, end_ns))
        self._free_ns = start_ns
        return start_ns, end_ns
