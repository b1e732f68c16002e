"""Calls as Parquet, a row group a batch, by pyarrow."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from iotune.errors import Error
from iotune.export import Exported
from iotune.traces.call_filter import CallFilter
from iotune.traces.calls import (
    COLUMNS,
    JSON_TEXTS,
    MISSING,
    NAMES,
    OPTIONAL_NUMBERS,
    SMALL_NUMBERS,
    CallBatch,
    CallReader,
)
from iotune.traces.log_totals import losses_of
from iotune.traces.regions import REGION_COLUMNS, each_region, row_of

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as problem:
    raise Error(f"parquet needs pyarrow ({problem}): pip install 'iotune[export]'") from None

_ROW_GROUP = 1 << 17


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Write them. The file's metadata say what `iotune.open_trace(…).metadata` calls by name."""
    reader = CallReader(path, wanted, COLUMNS, limit, _ROW_GROUP)
    reported = {"start_unix_ns": reader.run_start_unix_ns, "trace": path.name}
    schema = pa.schema(
        [pa.field(column, _type(column), column in _NULLABLE) for column in COLUMNS],
        metadata={"iotune": json.dumps(reported)},
    )
    count = 0
    try:
        with pq.ParquetWriter(to, schema, compression="zstd") as writer:
            for batch in reader:
                count += batch.rows
                arrays = [_array(batch, column) for column in COLUMNS]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    except pa.ArrowException as problem:
        raise Error(f"parquet: {' '.join(str(problem).split())}") from None
    return Exported(count, reader.losses)


class Regions:
    """The entries of the program's regions instead of calls."""

    def write(self, path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
        """Write them."""
        rows = [row_of(one) for one in islice(each_region(path, wanted.ranks), limit)]
        reported = {
            "start_unix_ns": CallReader(path, columns=()).run_start_unix_ns,
            "trace": path.name,
        }
        kinds = {"region": pa.string(), "is_open": pa.bool_()}
        kinds |= {name: pa.int32() for name in ("rank", "process", "thread", "depth")}
        schema = pa.schema(
            [pa.field(name, kinds.get(name, pa.int64()), name == "value")
             for name in REGION_COLUMNS],
            metadata={"iotune": json.dumps(reported)},
        )  # fmt: skip
        for row in rows:
            row["region"] = _utf8(row["region"])
        try:
            table = pa.Table.from_pylist(rows, schema=schema)
            pq.write_table(table, to, compression="zstd")
        except pa.ArrowException as problem:
            raise Error(f"parquet: {' '.join(str(problem).split())}") from None
        return Exported(len(rows), losses_of(path))


def _utf8(name: str) -> str:
    """As UTF-8, which Parquet's texts are: other bytes are written as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


_NULLABLE = {"file", "dataset", *OPTIONAL_NUMBERS, *JSON_TEXTS}


def _type(column: str) -> Any:
    if column in SMALL_NUMBERS:
        return pa.int32()
    if column in NAMES:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.string() if column in JSON_TEXTS else pa.int64()


def _array(batch: CallBatch, column: str) -> Any:
    if column in JSON_TEXTS:
        return _texts(batch, column)
    if column in NAMES:
        numbers = _numbers(pa.int32(), batch.numbers(column))
        names = [_utf8(name) for name in batch.names(column)]
        known = pc.if_else(pc.less(numbers, 0), pa.scalar(None, pa.int32()), numbers)
        return pa.DictionaryArray.from_arrays(known, pa.array(names, pa.string()))
    numbers = _numbers(_type(column), batch.numbers(column))
    if column not in OPTIONAL_NUMBERS:
        return numbers
    return pc.if_else(pc.equal(numbers, MISSING), pa.scalar(None, pa.int64()), numbers)


def _numbers(kind: Any, view: memoryview) -> Any:
    return pa.Array.from_buffers(kind, len(view), [None, pa.py_buffer(view)])


def _texts(batch: CallBatch, column: str) -> Any:
    text = batch.text(column)
    whole = pa.Array.from_buffers(
        pa.large_string(),
        batch.rows,
        [None, pa.py_buffer(text.offsets), pa.py_buffer(text.data)],
    ).cast(pa.string())
    return pc.if_else(pc.equal(pc.binary_length(whole), 0), pa.scalar(None, pa.string()), whole)
