"""Whether an answer can reach the program: what it sets itself is left to it, and what its run
refused would be refused again.

Where nothing else is left to try, the author can learn what to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iotune.models.cases import Case, trace_of_case
from iotune.models.settings.candidates import Candidate, Shape, chunk_caches

from iotune.errors import Error
from iotune.traces.call_meaning import meaning_of, meanings
from iotune.traces.trace import Trace


@dataclass(frozen=True)
class _PropertyCall:
    parameter: str  # that it sets
    argument: str  # that has the value
    usual: tuple[int, ...]  # what a library may have there anyway


# HDF5's cache had 1 MiB before 2.0 and has 8 MiB since; -1 is "as the file has it".
_CACHES = (1 << 20, 8 << 20, -1)
_CALLS = {
    "H5Pset_alignment": _PropertyCall("alignment", "alignment", (0, 1)),
    "H5Pset_meta_block_size": _PropertyCall("meta_block_size", "bytes", (2048,)),
    "H5Pset_sieve_buf_size": _PropertyCall("sieve_buf_size", "bytes", (65536,)),
    "H5Pset_page_buffer_size": _PropertyCall("page_buffer", "bytes", (0,)),
    "H5Pset_cache": _PropertyCall("chunk_cache", "bytes", _CACHES),
    "H5Pset_chunk_cache": _PropertyCall("chunk_cache", "bytes", _CACHES),
}


class OutOfReach(Error):
    """Nothing that could be measured would be applied to the program."""


# What a run's refusal ends with where a proof would let the setting through: training makes it.
_PROVABLE = "iotune prove"
# What was refused with all others, for no fault of its own.
_NO_FAULT = (
    "the program's call failed",
    "the ranks would not all apply the same settings",
    "a rank could not build the property list or the hints",
)


def taken_parameters(case: Case) -> dict[str, str]:
    """The parameters that would not be applied to the case's program, with the reason.

    What one value was refused for may hold for others: a promise that cannot be kept is worse than
    a value that nobody tries.
    """
    trace = trace_of_case(case)
    return {} if trace is None else taken_of(trace, case.file)


def taken_of(trace: Trace, path: str) -> dict[str, str]:
    """The same of a file of a trace."""
    found: dict[str, str] = {}
    for file in trace.summary.files:
        if file.path != path:
            continue
        for one in file.settings:
            if one.verdict != "refused" or one.reason.endswith(_PROVABLE):
                continue
            if "program set it" in one.reason:
                found[one.parameter] = "the program sets it itself"
            elif not one.reason.startswith(_NO_FAULT):
                found.setdefault(one.parameter, f"refused in its run, {one.reason}")
    # A run without settings refused none: its own calls tell, where they were recorded.
    for parameter, value in _set_by_calls(trace, path).items():
        found.setdefault(parameter, f"the program sets it itself, to {value}")
    return found


def _set_by_calls(trace: Trace, path: str) -> dict[str, int]:
    lists: dict[tuple[int, int], dict[str, int]] = {}  # by process and id
    found: dict[str, int] = {}
    opens = [one.name for one in meanings().values() if one.of_hdf5 and one.opens_file]
    for call in trace.each_call(layer="hdf5", call=(*_CALLS, *opens, "H5Pcreate", "H5Pcopy")):
        numbers, process = call.numbers, call.process
        said = meaning_of(call.name).said(numbers)
        if call.name == "H5Pcreate":
            lists.pop((process, numbers[-1]), None)  # an id may have been used before
        elif call.name == "H5Pcopy":
            lists[process, numbers[-1]] = dict(lists.get((process, numbers[0]), {}))
        elif call.name in opens:
            if call.file == path:
                found.update(lists.get((process, said["fapl"]), {}))
        elif call.result is not None and call.result >= 0:
            one = _CALLS[call.name]
            value = said[one.argument]
            if value in one.usual:
                continue
            if call.name == "H5Pset_chunk_cache":  # of a dataset's list, whichever file's
                found[one.parameter] = value
            else:
                lists.setdefault((process, numbers[0]), {})[one.parameter] = value
    return found


def within_reach(
    tried: Sequence[Candidate], shape: Shape, taken: dict[str, str]
) -> list[Candidate]:
    """The candidates that set nothing of the program's own. Raises OutOfReach without any."""
    left = [one for one in tried if not set(one.settings) & set(taken)]
    if left or not tried:
        return left
    names = [name for name in taken if any(name in one.settings for one in tried)]
    reasons = "; ".join(f"{name}: {taken[name]}" for name in names)
    raise OutOfReach(f"no setting would reach it ({reasons}). {advice(shape, names)}".strip())


def advice(shape: Shape, names: Sequence[str]) -> str:
    """What the program's author can write instead, as far as that is known."""
    if "chunk_cache" in names and shape.chunk:
        size = chunk_caches(shape)[0]
        return (
            f"Its author can pass rdcc_nbytes={size} to h5py.File, "
            f"or as rdcc_nbytes to H5Pset_cache"
        )
    return ""
