"""What HDF5 made of a file's collective transfers, and what that leaves of its settings.

HDF5 takes collective transfers apart where it has to convert their values, for one. Hints about
aggregators then change nothing, whatever MPI-IO says of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from iotune.traces.summary import DatasetPattern, FilePattern, SettingOutcome

# Of aggregators, who alone gather what ranks transfer together.
_OF_AGGREGATORS = (
    "cb_nodes",
    "cb_buffer_size",
    "cb_config_list",
    "romio_cb_read",
    "romio_cb_write",
)


def done_text(done: Mapping[str, int], causes: Mapping[str, int]) -> str:
    """12 collective (contiguous), 4 independent, because: datatype conversion."""
    text = ", ".join(f"{count:,} {how}" for how, count in done.items())
    return text + (f", because: {', '.join(causes)}" if causes else "")


def sum_of(datasets: Iterable[DatasetPattern]) -> tuple[dict[str, int], dict[str, int]]:
    """Transfers by what HDF5 made of them, and by the causes against collective I/O."""
    done: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    for one in datasets:
        done.update(one.actual_io)
        causes.update(one.not_collective)
    return dict(done), dict(causes)


def taken_apart(dataset: DatasetPattern) -> bool:
    """Whether HDF5 made some transfer independent that was asked for as collective."""
    return any(how.startswith("independent") for how in dataset.actual_io)


def reported_settings(file: FilePattern) -> list[SettingOutcome]:
    """The file's settings, as the trace has them, but for hints that nothing came of."""
    reason = _why_no_aggregators(file)
    if reason is None:
        return file.settings
    return [
        replace(one, verdict="without effect", reason=reason)
        if one.parameter in _OF_AGGREGATORS and one.has_effect
        else one
        for one in file.settings
    ]


def _why_no_aggregators(file: FilePattern) -> str | None:
    """None where some transfer went through them, or may have."""
    done, causes = sum_of(file.datasets)
    if file.sampled_out or not done:
        return None
    unreported = any(one.mode != "independent" and not one.actual_io for one in file.datasets)
    if unreported or not all(how.startswith("independent") for how in done):
        return None
    because = f" ({', '.join(causes)})" if causes else ""
    return (
        f"HDF5 made every collective transfer independent by itself{because}: "
        "no data went through aggregators"
    )
