"""Texts as darshan-parser and darshan-dxt-parser write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

HEAD = """# darshan log version: 3.41
# exe: /bin/app -x 1
# start_time: 1700000000
# nprocs: {ranks}
# run time: {seconds}
# mount entry:\t/\text4
# mount entry:\t/lus\tlustre
# POSIX module: 10 bytes (compressed), ver=4
"""
_PREFIX = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_", "LUSTRE": "LUSTRE_"}
Record = tuple[str, int, str, Mapping[str, float]]


def darshan_text(records: Iterable[Record], ranks: int = 4, seconds: float = 100) -> str:
    """A log of (module, rank, file, counters without their prefix)."""
    lines = [HEAD.format(ranks=ranks, seconds=seconds)]
    for module, rank, file, counters in records:
        for name, value in counters.items():
            words = (
                module,
                rank,
                abs(hash(file)),
                _PREFIX[module] + name,
                value,
                file,
                "/",
                "ext4",
            )
            lines.append("\t".join(map(str, words)) + "\n")
    return "".join(lines)


def dxt_text(file: str, segments: Iterable[tuple[str, int, str, int, int, float, float]]) -> str:
    """Segments (POSIX or MPIIO, rank, read or write, offset, length, start, end) of a file."""
    lines = [f"# DXT, file_id: 7, file_name: {file}\n"]
    for at, (layer, rank, way, offset, length, start, end) in enumerate(segments):
        lines.append(f" X_{layer}\t{rank}\t{way}\t{at}\t{offset}\t{length}\t{start}\t{end}\n")
    return "".join(lines)
