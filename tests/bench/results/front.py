"""The table of docs/results/README.md: a line a page, each with one cell out of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bench.results.tables import STANDARD, MarkdownTable, NoSuchTable


class HasTables(Protocol):
    """What looks tables up."""

    def table(self, name: str, table: str) -> MarkdownTable:
        """Return a table by the file's name and its own."""


@dataclass(frozen=True)
class Line:
    """A page and its row."""

    page: str
    title: str
    command: str
    name: str
    row: str
    table: str = "all"
    column: str = "value"
    says: str = ""


def bench(page: str, title: str, name: str, row: str, table: str = "all", column: str = "value",
          says: str = "") -> Line:  # fmt: skip
    """Return the line of a benchmark's page."""
    return Line(page, title, f"make bench NAME={name}", name, row, table, column, says)


LINES: tuple[Line, ...] = (
    bench("startup", "Start-up", "startup",
          "libiotune.so against an empty preload, both less bare"),
    bench("tracer", "Tracer", "tracer",
          "64-byte pread, strided, added by libiotune.so, ns CPU"),
    bench("peers", "Peers", "peers", "4 x 50000 pwrites of 64 bytes, strided, iotune", "calls",
          "added, ns CPU", "4 processes, strided pwrites: iotune adds to a call, ns CPU"),
    bench("finish", "End of a run", "finish",
          "100000 calls, regular: end beyond the trace's bytes, ms"),
    bench("scale", "Scale", "scale", "grid, 100000 ranks: rank 0 merges, s"),
    bench("decision", "Decision", "decision",
          "library loaded and first decision, 100,000 patterns, ms"),
    bench("analyze", "Analysis of large runs", "analyze", "1e+08 nested accesses", "traces",
          "most memory, MiB", "10⁸ accesses in nested loops: most memory, MiB"),
    bench("report", "The report", "report", "1e+07", "ours", "page, MiB",
          "page of 10⁷ accesses, MiB"),
    bench("patterns", "Patterns", "patterns", "BT-IO A", "rates", "ours",
          "BT-IO A: bytes of the papers' index over ours"),
    bench("offset-index", "Offset index", "index",
          "nest of 100,000,000 accesses, 512 streams, ns",
          says="who wrote an offset, among 100,000,000 accesses of 512 streams, ns"),
    bench("logstore", "Log store", "logstore", "in memory, names included, bytes", "bytes", "256K",
          "index of 134,217,728 writes of 512 ranks in memory, names included, bytes"),
    bench("prediction", "Prediction", "prediction", "BT-IO A", "shares", "ours",
          "BT-IO A: share of accesses predicted exactly"),
    bench("prefetch", "Prefetch", "prefetch", "strided", "kinds", "pattern",
          "strided reads at 2 ms a request: time in reads against none"),
    bench("prefetch-programs", "Prefetch, real programs", "prefetch_programs", "h5py by planes",
          "programs", "pattern: time in reads", "h5py by planes: time in reads against none"),
    bench("dataloader", "DataLoader", "dataloader", "h5py, 2 workers", "epochs", "later",
          "h5py in 2 persistent workers: a later run's epoch against none"),
    bench("ppis", "PPIS", "ppis", "hill-encrypt, 8 processes, heavy", "processes", "ours",
          "hill-encrypt, 8 processes, heavy I/O beside: speed-up over normal"),
    Line("prefetch", "Prefetch as a file system", "iotune fuse --prefetch", "fuse_prefetch",
         "pattern", column="hits of 200 reads", says="strided reads there in time, of 200"),
    Line("demo", "The loop", "make demo", "demo",
         "cyclic-io, collective, 1,000,000 × 8 bytes a rank", column="paired",
         says="cyclic-io: the default's time over the setting's"),
    bench("tuning", "Tuning", "tuning", "vpic-io write", "cephfs", "iotune against default",
          "VPIC-IO's write on CephFS: the default's time over iotune's"),
    bench("tuning", "Rows of a chunked dataset", "chunk_rows", "iotune against default"),
    bench("training", "Training", "training", "ours", "disk", "k = 3",
          "best of three runs over the best known, local disk"),
    bench("similarity", "PDSW'15", "similarity", "VPIC-IO", "receivers", "against default",
          "what VPIC-IO was trained for, on IOR: the default's time over it"),
    bench("latency", "Response times", "latency",
          "tail share, 95th percentile of its error, %"),
    bench("safety", "Safety: worst case", "safety", "flash-io read", "nodes-memory",
          "the rounds' own ratios",
          "FLASH's read of small files on fake nodes in memory: default over iotune"),
    Line("torture", "Safety: torture", "make soak", "torture",
         "hung, ended otherwise, or with other contents", column="count",
         says="of 1,000 drawn programs: hung, ended otherwise, or with other contents"),
    bench("gather", "Gathered writes", "gather",
          "2 x 300000 pieces of 8 bytes, cyclic, bare over gathered"),
    bench("verify", "Order", "verify", "pnetcdf: tests with the same verdicts in all models",
          "counts", says="PnetCDF's tests with the published verdicts in all four models, of 52"),
    Line("tuning", "More ranks than cores", "ctest --test-dir build/dev -R mpi.yield -V",
         "yield_shim", "with it", column="time", says="barrier of 4 ranks on 2 cores"),
)  # fmt: skip


def front_table(results: HasTables) -> MarkdownTable:
    """Return the table of all pages."""
    made = MarkdownTable(("page", "one row of it", "value", "command"))
    for line in LINES:
        table = results.table(line.name, line.table)
        try:
            value = table.cell(line.row, line.column)
        except NoSuchTable as problem:
            raise NoSuchTable(f"front.py, {line.page}: {problem}") from None
        if list(table.columns) == list(STANDARD):
            value += _in_brackets(table.cell(line.row, STANDARD[2]))
            goal = table.cell(line.row, STANDARD[3])
            value += f"; {goal}" if goal else ""
        label = line.says or line.row
        made.rows.append((f"[{line.title}]({line.page}.md)", label, value, f"`{line.command}`"))
    return made


def _in_brackets(interval: str) -> str:
    return f" ({interval})" if interval else ""
