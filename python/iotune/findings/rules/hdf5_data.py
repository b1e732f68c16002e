"""Transfers of HDF5: taken apart, scattered, converted, many and small."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from iotune.findings import thresholds as limit
from iotune.findings.datasets import Dataset
from iotune.findings.facts import (
    Facts,
    at_most,
    counted,
    evidence,
    ranks_of,
    slowest,
    times_of,
)
from iotune.findings.finding import Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5
from iotune.findings.snippets.named import EXAMPLE, named
from iotune.findings.streams import HDF5_MAKES, HDF5_READ, HDF5_WRITE, Stream, kind_of
from iotune.reports.actual_io import done_text, taken_apart
from iotune.reports.tables import count_text, ranks_text, size_text


def _requests(facts: Facts, file: str, writes: bool) -> tuple[int, int]:
    """Calls and bytes that HDF5 made of a file's transfers at the file system."""
    outer = HDF5_WRITE if writes else HDF5_READ
    own = [
        one
        for one in facts.of_file[file]
        if one.outer == outer
        and one.layer == "posix"
        and one.meaning.transfer
        and one.meaning.writes == writes
    ]
    return sum(one.calls for one in own), sum(one.bytes for one in own)


def _split(facts: Facts) -> Sighting | None:
    found = []
    causes: Counter[str] = Counter()
    for file in facts.run.files:
        for one in file.datasets:
            if not taken_apart(one):
                continue
            causes.update(one.not_collective)
            text = done_text(one.actual_io, one.not_collective)
            found.append(
                evidence(
                    facts.transfers[file.path, one.dataset, one.write],
                    text,
                    file.path,
                    one.dataset,
                )  # fmt: skip
            )
    if not found:
        return None
    why = ", ".join(causes) or "HDF5 does not say why"
    calls = sum(one.calls for one in found)
    summary = f"{calls:,} collective transfers, of which HDF5 made independent ones: {why}"
    seconds = slowest(found)
    return Sighting(found, summary, at_most(seconds, facts, "all the time of these transfers"))


def _scattered(facts: Facts) -> Sighting | None:
    found = []
    for one in facts.hdf5.datasets.values():
        for writes in (True, False):
            calls, pieces = one.transfers[writes], one.pieces[writes]
            if not calls or one.unions[writes] < 0.5 * calls:
                continue
            requests, _ = _requests(facts, one.file, writes)
            pieces = pieces or requests  # too large to be recorded: what came of it
            if pieces < limit.MANY_PIECES * calls:
                continue
            size = one.bytes[writes] / pieces
            if size > limit.SMALL_PIECE_BYTES:
                continue
            verb = "writes" if writes else "reads"
            text = (
                f"each of {calls:,} {verb} is a union of {pieces / calls:,.0f} pieces of "
                f"{size_text(size)}; HDF5 made {requests:,} requests of this file's transfers"
            )
            streams = facts.transfers[one.file, one.path, writes]
            found.append(evidence(streams, text, one.file, one.path))
    if not found:
        return None
    summary = f"selections of {count_text(len(found), 'dataset')} are scattered over the file"
    seconds = slowest(found)
    return Sighting(found, summary, at_most(seconds, facts, "all the time of these transfers"))


def _small_transfers(facts: Facts) -> Sighting | None:
    found = []
    for (file, dataset, writes), streams in facts.transfers.items():
        if not streams:
            continue
        calls, size = sum(one.calls for one in streams), sum(one.bytes for one in streams)
        most = max(one.calls for one in streams)
        if most < limit.MANY_TRANSFERS or size > limit.SMALL_BYTES * calls:
            continue
        verb = "writes" if writes else "reads"
        text = f"{calls:,} {verb} of HDF5, {size_text(size / calls)} each{_by(streams)}"
        found.append(evidence(streams, text, file, dataset))
    if not found:
        return None
    calls = sum(one.calls for one in found)
    mean = sum(one.bytes for one in found) / calls
    seconds = slowest(found)
    how = "all the time of these calls on the slowest rank"
    return Sighting(found, f"{calls:,} transfers of HDF5 move {size_text(mean)} each",
                    at_most(seconds, facts, how))  # fmt: skip


def _by(streams: Sequence[Stream]) -> str:
    text = ranks_text(ranks_of(streams))
    return f", by {text}" if text else ""


def _conversion(facts: Facts) -> Sighting | None:
    found, about = [], {}
    for one in facts.hdf5.datasets.values():
        for writes in (True, False):
            converted = one.converted[writes]
            streams = facts.transfers[one.file, one.path, writes]
            cause = _reported_conversion(facts, one, writes)
            size = sum(stream.bytes for stream in streams)
            if not converted and not cause:
                continue
            if size < limit.FILL_BYTES:
                continue
            widths = (
                f"{one.memory_bytes[writes]} bytes in memory, {one.element_bytes} in the file"
                if converted
                else "HDF5 says so of its collective transfers"
            )
            number = converted or one.transfers[writes]
            text = f"{number:,} {'writes' if writes else 'reads'} convert each element: {widths}"
            found.append(evidence(streams, text, one.file, one.path))
            about[one.file, one.path] = named(one, writes)
    if not found:
        return None
    size = sum(one.bytes for one in found)
    summary = f"{size_text(size)} are converted from one type to another"
    return Sighting(found, summary, named=about)


def _reported_conversion(facts: Facts, dataset: Dataset, writes: bool) -> bool:
    pattern = facts.patterns.get((dataset.file, dataset.path, writes))
    return pattern is not None and any("conversion" in cause for cause in pattern.not_collective)


def _small_datasets(facts: Facts) -> Sighting | None:
    found = []
    size: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    own: dict[str, list[Stream]] = defaultdict(list)
    for (file, dataset, _), parts in facts.transfers.items():
        size[file][dataset] += sum(one.bytes for one in parts)
        own[file] += parts
    for file, streams in own.items():
        small = {name for name, moved in size[file].items() if 0 < moved < limit.SMALL_BYTES}
        if len(small) < limit.MANY_SMALL_DATASETS:
            continue
        total = sum(size[file][name] for name in small)
        text = f"{len(small)} datasets of {size_text(total / len(small))} on average"
        chosen = [one for one in streams if one.dataset in small]
        times = times_of(
            one
            for one in facts.of_file[file]
            if one.layer == "hdf5" and not one.meaning.transfer
            and one.meaning.thing == "dataset"
        )  # fmt: skip
        calls, moved = sum(one.calls for one in chosen), sum(one.bytes for one in chosen)
        found.append(counted(text, file, "", ranks_of(chosen), calls, moved, times))
    if not found:
        return None
    seconds = slowest(found)
    how = "the time of making, opening and closing them on the slowest rank"
    summary = found[0].text if len(found) == 1 else f"{len(found)} files of many small datasets"
    return Sighting(found, summary, at_most(seconds, facts, how))


def _attributes(facts: Facts) -> Sighting | None:
    found = []
    files = facts.by_file(lambda one: one.layer == "hdf5" and one.meaning.thing == "attribute")
    for file, streams in files.items():
        of_process: dict[int, int] = defaultdict(int)
        for one in streams:
            if one.meaning.verb in ("creates", "opens"):
                of_process[one.process] += one.calls
        most = max(of_process.values(), default=0)
        if most < limit.MANY_ATTRIBUTES:
            continue
        text = f"{most:,} attributes made or opened by one process"
        found.append(evidence(streams, text, file))
    if not found:
        return None
    seconds = slowest(found)
    calls = sum(one.calls for one in found)
    how = "all the time of these calls on the slowest rank"
    return Sighting(found, f"{calls:,} calls on attributes", at_most(seconds, facts, how))


def _fill(facts: Facts) -> Sighting | None:
    found, about = [], {}
    files = facts.by_file(
        lambda one: one.outer == HDF5_MAKES and one.layer == "posix" and one.meaning.writes
    )
    for file, streams in files.items():
        size = sum(one.bytes for one in streams)
        if size < limit.FILL_BYTES:
            continue
        written = sum(
            one.bytes for one in facts.of_file[file] if one.layer == "hdf5" and one.meaning.writes
        )
        text = (
            f"{size_text(size)} written while datasets were made, before the program wrote "
            f"{size_text(written)} itself"
        )
        times = times_of(
            one
            for one in facts.of_file[file]
            if one.layer == "hdf5" and kind_of(one.meaning) == HDF5_MAKES
        )
        calls = sum(one.calls for one in streams)
        found.append(counted(text, file, "", ranks_of(streams), calls, size, times))
        own = [one for one in facts.hdf5.datasets.values() if one.file == file and one.dims]
        if own:
            largest = max(own, key=lambda one: one.element_bytes * math.prod(one.dims))
            about[file, ""] = named(largest, writes=True)
    found += _filled_arrays(facts)
    if not found:
        return None
    seconds = slowest(found)
    size = sum(one.bytes for one in found)
    how = "all the time of making these datasets on the slowest rank"
    summary = f"{size_text(size)} of fill values are written first"
    return Sighting(found, summary, at_most(seconds, facts, how), named=about)


def _filled_arrays(facts: Facts) -> list[Evidence]:
    """Arrays that one rank wrote as a whole before all did, where HDF5's calls are not known."""
    found = []
    for file in facts.run.data_files:
        for one in [] if file.declared else file.datasets:
            if one.write and one.filled_bytes >= limit.FILL_BYTES:
                text = (
                    f"{size_text(one.filled_bytes)} written by one rank as a whole before all "
                    f"ranks wrote their parts of {one.dataset}"
                )
                found.append(counted(text, file.path, "", (), 0, one.filled_bytes, {}))
    return found


RULES = (
    Rule(
        "split-collectives",
        "collective transfers that HDF5 made independent",
        "hdf5",
        "Take away what HDF5 names as the cause: the same type in memory and file, no data "
        "transform, dataspaces that are simple, a layout that is contiguous or chunked.",
        _split,
        (hdf5.CAUSES, *hdf5.same_type(EXAMPLE)),
    ),
    Rule(
        "scattered-selection",
        "selections that are scattered over the file",
        "hdf5",
        "Transfer it collectively, so that ranks' pieces are joined to long requests. Better, "
        "store the values in the order of their owners, with their places beside them, or sort "
        "them among ranks before.",
        _scattered,
        (hdf5.ORDER,),
        ("romio_cb_write", "romio_ds_write"),
    ),
    Rule(
        "small-transfers",
        "many small transfers of HDF5",
        "hdf5",
        "Transfer what a rank has with one call: a selection may have strides and many blocks. "
        "Where records come one by one, gather some hundred of them in memory.",
        _small_transfers,
        hdf5.JOIN,
    ),
    Rule(
        "type-conversion",
        "values converted on their way",
        "hdf5",
        "Create the dataset with the type that the program has in memory, or convert once in the "
        "program. HDF5 converts through a buffer of 1 MiB, and makes collective transfers "
        "independent to do so.",
        _conversion,
        lines=hdf5.same_type,
    ),
    Rule(
        "small-datasets",
        "many small datasets",
        "hdf5",
        "Join them in one dataset with a dimension more, or in one of a compound type. Each "
        "dataset has a header of its own, and with MPI all ranks make it together.",
        _small_datasets,
        hdf5.ONE_DATASET,
    ),
    Rule(
        "many-attributes",
        "many attributes",
        "hdf5",
        "Join them in a few attributes of a compound type or an array, and read them on one rank. "
        "Beyond 8 an object's attributes are kept in a heap and a tree, where the file's format "
        "is recent (H5Pset_libver_bounds).",
        _attributes,
        hdf5.ONE_ATTRIBUTE,
    ),
    Rule(
        "fill-values",
        "fill values written before the data",
        "hdf5",
        "Where every element is written anyway, switch filling off. Parallel HDF5 fills chunks "
        "when the dataset is made; what is never written then holds anything.",
        _fill,
        lines=hdf5.never_filled,
    ),
)
