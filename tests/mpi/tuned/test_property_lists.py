"""Property lists and settings, both drawn by seed: every call ends as it does without iotune.

Equal results, equal error stacks, the handler called as often, equal contents. HDF5 itself dies of
some lists; then it has to die under iotune too, and of no others.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from support.place import Place, main
from support.settings import VERDICTS

PROGRAM = "property_lists"

# Values that HDF5 takes alone; with some property lists it refuses them.
VALUES = {
    "alignment": ("1,512", "1,3000", "1,4096", "1,65536", "4096,1048576", "100000,4096"),
    "meta_block_size": ("2048", "65536", "1048576"),
    "sieve_buf_size": ("0", "4096", "1048576"),
    "chunk_cache": ("0", "65536", "16777216"),
    "libver_low": ("v18", "v110"),
    "chunk": ("8,8", "48,40", "16,16"),
    "fill_time": ("never",),
    "fadvise": ("sequential", "random"),
    "fallocate": ("65536",),
}  # fmt: skip
PARALLEL = VALUES | {
    "coll_metadata_write": ("enable",),
    "dxpl_mpio_collective_opt": ("individual",),
    "cb_nodes": ("1", "2"),
    "cb_buffer_size": ("65536", "1048576"),
    "romio_cb_write": ("enable", "disable"),
    "romio_ds_write": ("disable",),
}

Lines = dict[int, list[str]]


def write_settings(place: Place, values: dict[str, tuple[str, ...]], seeds: range) -> Path:
    """Each file has leaves of its own, so that one run tries many."""
    leaves = []
    for seed in seeds:
        draw = random.Random(seed)
        for name in draw.sample(sorted(values), draw.randint(1, 5)):
            value = draw.choice(values[name])
            leaves.append(f'<{name} FileName="file_{seed}.h5">{value}</{name}>')
    path = place.scratch / "config.xml"
    path.write_text(
        "<Parameters><High_Level_IO_Library>" + "".join(leaves)
        + "</High_Level_IO_Library></Parameters>"
    )  # fmt: skip
    return path


def run(place: Place, mode: str, seeds: range, folder: Path, **how: Any) -> Lines:
    """What the program prints of each seed; after a death it goes on behind the seed of it."""
    lines: Lines = defaultdict(list)
    start = seeds.start
    while start < seeds.stop:
        words = (place.bin / PROGRAM, mode, start, seeds.stop)
        if mode == "parallel":
            done = place.mpi(2, *words, cwd=folder, **how)
        else:
            done = place.run(*words, cwd=folder, seconds=600, **how)
        last = start
        for line in done.out.decode(errors="replace").splitlines():
            if found := re.match(r"(\d+)\.\d ", line):
                last = int(found[1])
                lines[last].append(line)
        if done.status == 0:
            break
        lines[last] = [f"{last}.0 dies"]
        start = last + 1
    for seed, reported in lines.items():
        if f"{seed}.0 dies" in reported:
            reported[:] = ["dies"]
        reported.sort(key=lambda line: line.split()[0])  # a rank's own order is kept
    return lines


def compare(place: Place, mode: str, seeds: range) -> None:
    config = write_settings(place, PARALLEL if mode == "parallel" else VALUES, seeds)
    folders = {arm: place.scratch / arm for arm in ("bare", "tuned")}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    bare = run(place, mode, seeds, folders["bare"], preload=False)
    tuned = run(place, mode, seeds, folders["tuned"], IOTUNE_CONFIG=config)
    text = config.read_text()
    for seed in seeds:
        one, other = bare[seed], tuned[seed]
        if f'<libver_low FileName="file_{seed}.h5">' in text:
            one, other = until_closed(one), until_closed(other)
        assert one == other, (seed, describe(one, other))
    contents = {arm: run(place, "check", seeds, folder, preload=False)
                for arm, folder in folders.items()}  # fmt: skip
    for seed in seeds:
        if bare[seed] == tuned[seed] != ["dies"]:
            assert contents["bare"][seed] == contents["tuned"][seed], (seed, contents)
    if mode == "parallel":  # else each file has a process of its own
        verdicts = {VERDICTS[c["numbers"][0]] for c in place.calls()
                    if c["name"] == "iotune_setting"}  # fmt: skip
        assert {"applied", "refused"} <= verdicts, verdicts
    dead = sum(bare[seed] == ["dies"] for seed in seeds)
    print(f"{mode}: {len(seeds)} files, of {dead} HDF5 itself dies")


def until_closed(lines: list[str]) -> list[str]:
    """A file in the newer format, as asked for, may be opened in more ways than one in the old."""
    ends = [i for i, line in enumerate(lines) if " H5Fopen " in line]
    return lines[: ends[0]] if ends else lines


def describe(bare: list[str], tuned: list[str]) -> str:
    return "\n".join(f"{a!r}\n{b!r}" for a, b in zip(bare + [""], tuned + [""]) if a != b)[:3000]


def alone(place: Place) -> None:
    compare(place, "make", range(120))


def parallel(place: Place) -> None:
    compare(place, "parallel", range(24))


def soak(place: Place) -> None:
    compare(place, "make", range(1000, 6000))
    compare(place, "parallel", range(1000, 1600))


if __name__ == "__main__":
    main({"alone": alone, "parallel": parallel, "soak": soak})
