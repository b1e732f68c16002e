"""Data frames of traces. The only module of `iotune.open_trace` that needs numpy and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from iotune.errors import Error
from iotune.traces.bytes_by_time import ByTime
from iotune.traces.calls import (
    JSON_TEXTS,
    MISSING,
    NAMES,
    OPTIONAL_NUMBERS,
    SMALL_NUMBERS,
    CallBatch,
    CallReader,
)
from iotune.traces.regions import REGION_COLUMNS, RegionEntry, row_of
from iotune.traces.summary import RunSummary

try:
    import numpy as np
    import pandas as pd
except ImportError as problem:
    raise Error(f"data frames need pandas ({problem}): pip install 'iotune[export]'") from None


def calls_frame(reader: CallReader) -> pd.DataFrame:
    """All calls of a reader."""
    batches = list(reader)
    return _frame(reader, batches)


def call_chunks(reader: CallReader) -> Iterator[pd.DataFrame]:
    """A frame for each batch."""
    for batch in reader:
        yield _frame(reader, [batch])


def _frame(reader: CallReader, batches: list[CallBatch]) -> pd.DataFrame:
    return pd.DataFrame(
        {column: _series(reader, column, batches) for column in reader.columns}, copy=False
    )


def _series(reader: CallReader, column: str, batches: list[CallBatch]) -> Any:
    if column in JSON_TEXTS:
        texts = [value for batch in batches for value in batch.values(column)]
        return pd.Series(texts, dtype=object)
    kind = np.int32 if column in SMALL_NUMBERS or column in NAMES else np.int64
    parts = [np.frombuffer(batch.numbers(column), dtype=kind) for batch in batches]
    numbers = np.concatenate(parts) if parts else np.empty(0, dtype=kind)
    if column in NAMES:
        return pd.Categorical.from_codes(numbers, categories=reader.names(column))
    if column in OPTIONAL_NUMBERS:
        return pd.arrays.IntegerArray(numbers, numbers == MISSING)
    return numbers


def by_time_frame(found: ByTime) -> pd.DataFrame:
    """A row for each bin that is not empty."""
    rows = list(found.rows())
    begin_ns = [at * found.bin_ns for _, _, _, at, _ in rows]
    frame = pd.DataFrame(
        {
            "process": np.array([row[0] for row in rows], np.int32),
            "file": pd.Categorical([row[1] for row in rows]),
            "operation": pd.Categorical([row[2] for row in rows]),
            "start_ns": np.array(begin_ns, np.int64),
            "end_ns": np.array(begin_ns, np.int64) + found.bin_ns,
            "bytes": np.array([row[4] for row in rows], np.int64),
        }
    )
    frame.attrs["by_time_kind"] = dict(found.by_time_kind)
    return frame


def processes_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """What each process said of itself (recorder/FORMAT.md, PROCESS and END)."""
    columns = {
        "rank": -1,
        "pid": -1,
        "host": "",
        "program": "",
        "argv": [],
        "cwd": "",
        "mpi": "",
        "hdf5": "",
        "wall_ns": 0,
        "calls": 0,
        "dropped": 0,
        "late": 0,
        "alive": False,
        "end": None,
    }
    table = {name: [row.get(name, missing) for row in rows] for name, missing in columns.items()}
    table["start_unix_ns"] = table.pop("wall_ns")
    table["dropped_calls"] = table.pop("dropped")
    frame = pd.DataFrame(table)
    frame.index.name = "process"
    return frame


_FILE_COLUMNS = (
    *("path", "bytes_written", "bytes_read", "io_seconds", "elapsed_seconds"),
    *("opened_at_seconds", "sampled_out", "decision_source", "decision_message"),
)


def files_frame(run: RunSummary) -> pd.DataFrame:
    """The files of a run."""
    return pd.DataFrame({name: [getattr(one, name) for one in run.files] for name in _FILE_COLUMNS})


def regions_frame(entries: Iterable[RegionEntry]) -> pd.DataFrame:
    """The entries of regions."""
    rows = list(entries)
    table: dict[str, Any] = {name: [row_of(one)[name] for one in rows] for name in REGION_COLUMNS}
    frame = pd.DataFrame(table, columns=list(REGION_COLUMNS))
    frame["value"] = frame["value"].astype("Int64")
    return frame


_PATTERN_COLUMNS = (
    *("dataset", "descriptor", "mode", "ranks", "process_grid", "calls", "repeats", "bytes"),
    *("seconds", "bandwidth", "element_bytes", "dataset_dims", "chunk", "filters"),
    *("halo", "inferred"),
)


def patterns_frame(run: RunSummary) -> pd.DataFrame:
    """The patterns of a run's datasets."""
    rows = [(file, one) for file in run.files for one in file.datasets]
    table: dict[str, list[Any]] = {
        "file": [file.path for file, _ in rows],
        "operation": ["write" if one.write else "read" for _, one in rows],
        "speaks": [file.is_dominant(one) for file, one in rows],
    }
    for name in _PATTERN_COLUMNS:
        table[name] = [getattr(one, name) for _, one in rows]
    frame = pd.DataFrame(table)
    return frame.rename(columns={"bandwidth": "bytes_per_second"})
