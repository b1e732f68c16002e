"""Which of a run's transfers found their dataset opened anew.

HDF5 drops a dataset's chunk cache when its last handle is closed. A trace has the closes that a
program makes by H5Dclose and H5Oclose. h5py closes by H5Idec_ref, which is not recorded: a handle
without a recorded close is taken as closed behind its last transfer. Handles that no transfer goes
through have no number in a trace: whether one keeps its dataset open is not known.
"""

from __future__ import annotations

from collections.abc import Iterable

from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import Call

_Handle = tuple[int, int]  # process, iotune's number of the open handle
_Name = tuple[int, str, str]  # process, file, dataset


def _ends(calls: Iterable[Call]) -> tuple[dict[_Handle, int], set[_Handle]]:
    """Of each handle that no recorded call closes, the place of its last transfer in `calls`.

    And those that a recorded call closes.
    """
    last: dict[_Handle, int] = {}
    closed: set[_Handle] = set()
    numbers = _Numbers()
    for at, call in enumerate(calls):
        numbers.pass_over(call)
        gone = numbers.closed(call)
        if gone is not None:
            closed.add(gone)
        for moved in call.transfers:
            last[call.process, moved.get("object", 0)] = at
    return {handle: at for handle, at in last.items() if handle not in closed}, closed


class _Numbers:
    """iotune's numbers of the handles that a process has, by HDF5's ids of them."""

    def __init__(self) -> None:
        self._of_id: dict[tuple[int, int], int] = {}

    def pass_over(self, call: Call) -> None:
        if meaning_of(call.name).notes("dataset"):
            self._of_id[call.process, call.numbers[0]] = call.keys[0]

    def closed(self, call: Call) -> _Handle | None:
        """The handle that the call closed."""
        means = meaning_of(call.name)
        if means.verb != "closes" or means.thing not in ("dataset", "object"):
            return None
        if (call.result or 0) < 0 or means.handle is None:
            return None
        number = self._of_id.pop((call.process, call.numbers[means.handle]), None)
        return None if number is None else (call.process, number)


class OpenDatasets:
    """Follows the handles of datasets through a run's calls, which are passed in their order."""

    def __init__(self, calls: Iterable[Call]):
        """`calls`: all of them, gone through once before."""
        self._last, self._closed = _ends(calls)
        self._numbers = _Numbers()
        self._open: dict[_Name, set[int]] = {}
        self._name: dict[_Handle, _Name] = {}
        self._lost: set[_Name] = set()  # used before, and no handle is open

    def opened(self, process: int, number: int, file: str, dataset: str) -> None:
        """A handle of this dataset is open from here on."""
        if (process, number) not in self._last and (process, number) not in self._closed:
            return  # only asked about, and closed in a way that is not recorded
        name = self._name.setdefault((process, number), (process, file, dataset))
        self._open.setdefault(name, set()).add(number)

    def pass_over(self, call: Call) -> None:
        """A call that may close a handle."""
        self._numbers.pass_over(call)
        gone = self._numbers.closed(call)
        if gone is not None:
            self._close(gone)

    def is_anew(self, process: int, number: int, file: str, dataset: str) -> bool:
        """Whether the dataset was closed since the process's transfer of it before this one."""
        name = (process, file, dataset)
        anew = name in self._lost
        self._lost.discard(name)
        self.opened(process, number, file, dataset)
        return anew

    def end_transfer(self, process: int, number: int, at: int) -> None:
        """The transfer at this place of the calls is over."""
        if self._last.get((process, number)) == at:
            self._close((process, number))

    def _close(self, handle: _Handle) -> None:
        name = self._name.pop(handle, None)
        handles = self._open.get(name) if name is not None else None
        if name is not None and handles is not None:
            handles.discard(handle[1])
            if not handles:
                self._lost.add(name)
