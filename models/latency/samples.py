"""Tables of response times: one row a sample, in Parquet or CSV.

Columns: time_ns (Unix time at the sample's begin), seconds, bytes, operation (read, write), cache
(cold, warm), interface (mpiio, posix), server (number of the storage server or target that holds
the file; -1: not known), rank, round (samples of one round and kind began together), host, run (an
identifier of the job that took them), directory.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iotune.errors import Error, shown
from iotune.output_file import new_file

if TYPE_CHECKING:
    import pandas as pd

# Name, type, and the value of a table that has no such column; None: it must have it.
COLUMNS: list[tuple[str, str, Any]] = [
    ("time_ns", "int64", None),
    ("seconds", "float64", None),
    ("bytes", "int64", None),
    ("operation", "str", None),
    ("cache", "str", "cold"),
    ("interface", "str", "mpiio"),
    ("server", "int64", -1),
    ("rank", "int64", 0),
    ("round", "int64", 0),
    ("host", "str", ""),
    ("run", "str", ""),
    ("directory", "str", ""),
]
_WORDS = {
    "operation": ("read", "write"),
    "cache": ("cold", "warm"),
    "interface": ("mpiio", "posix"),
}


@dataclass(frozen=True)
class Kind:
    """What the samples of one distribution have in common."""

    operation: str
    cache: str
    interface: str
    bytes: int

    def text(self) -> str:
        size = f"{self.bytes >> 20} MiB" if self.bytes >= 1 << 20 else f"{self.bytes >> 10} KiB"
        return f"{self.operation}, {self.cache}, {self.interface}, {size}"


def read_samples(path: Path) -> pd.DataFrame:
    """A table of samples; by the name's end CSV or Parquet. Raises Error for what is none."""
    import pandas as pd

    if path.is_dir():
        raise Error(f"{path} is a directory; name the table of samples in it")
    try:
        if path.suffix.lower() in (".csv", ".txt"):
            table = pd.read_csv(path)
        else:
            table = pd.read_parquet(path, engine="pyarrow", page_checksum_verification=True)
    except FileNotFoundError:
        raise Error(f"{path}: no such file; iotune latency sample makes one") from None
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror or problem}") from None
    except Exception as problem:  # each reader has its own errors for a damaged file
        raise Error(f"{path} is no table of samples: {shown(str(problem))}") from None
    return checked(table, str(path))


def checked(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table with all columns in their types. Raises Error that names column and row."""
    import pandas as pd

    result: dict[str, Any] = {}
    for column, kind, otherwise in COLUMNS:
        if column not in table.columns:
            if otherwise is None:
                raise Error(
                    f"{name} has no column {column}: it has {shown(', '.join(map(str, table)))}"
                )
            result[column] = pd.Series([otherwise] * len(table), dtype=kind)
            continue
        values = table[column]
        if kind == "str":
            result[column] = values.fillna("" if otherwise is None else otherwise).astype(str)
            continue
        numbers = pd.to_numeric(values, errors="coerce")
        if numbers.isna().any():
            row = int(numbers.isna().to_numpy().argmax())
            raise Error(
                f"{name}: {column} of row {row + 1} is {shown(repr(values.iloc[row]))}, no number"
            )
        result[column] = numbers.astype(kind)
    frame = pd.DataFrame({key: value.reset_index(drop=True) for key, value in result.items()})
    for column, words in _WORDS.items():
        wrong = ~frame[column].isin(words)
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            raise Error(
                f"{name}: {column} of row {row + 1} is {shown(repr(frame[column].iloc[row]))}, "
                f"not {' or '.join(words)}"
            )
    wrong = ~((frame["seconds"] > 0) & (frame["seconds"] < float("inf")))
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise Error(f"{name}: seconds of row {row + 1} are {frame['seconds'].iloc[row]:g}")
    return frame


def write_samples(table: pd.DataFrame, path: Path, force: bool = True) -> None:
    """Write a table whole or not at all; by the name's end CSV or Parquet. Raises Error."""
    content = io.BytesIO()
    if path.suffix.lower() == ".csv":
        table.to_csv(content, index=False)
    else:
        table.to_parquet(content, index=False, compression="zstd", write_page_checksum=True)
    with new_file(path, force) as file:
        file.write(content.getbuffer())


def kinds_in(table: pd.DataFrame) -> Iterator[tuple[Kind, pd.DataFrame]]:
    """The samples by operation, cache, interface and size, in that order."""
    keys = ["operation", "cache", "interface", "bytes"]
    for values, group in table.groupby(keys, sort=True):
        operation, cache, interface, size = values
        yield Kind(str(operation), str(cache), str(interface), int(size)), group


def selected(
    table: pd.DataFrame,
    operation: str | None = None,
    cache: str | None = None,
    interface: str | None = None,
    sizes: Sequence[int] = (),
) -> pd.DataFrame:
    """The rows of these kinds; None and an empty list: all. Raises Error where none is left."""
    kept = table
    for column, value in (("operation", operation), ("cache", cache), ("interface", interface)):
        if value is not None:
            kept = kept[kept[column] == value]
    if sizes:
        kept = kept[kept["bytes"].isin(list(sizes))]
    if not len(kept):
        raise Error("no sample is of this kind; iotune latency fit without options lists them")
    return kept
