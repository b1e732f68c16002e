"""Programs that nobody here wrote: HDF5's own example and its own parallel tests.

What iotune recognised is compared with what a witness, asking HDF5 itself in a run of its own,
saw of the selections; a second, plain reading of docs/descriptors.md names them.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done

Point = tuple[int, ...]

CONFIG = """<Parameters><High_Level_IO_Library>
  <alignment>4096,512</alignment><meta_block_size>8192</meta_block_size>
</High_Level_IO_Library><Middleware_Layer>
  <cb_nodes>1</cb_nodes><cb_buffer_size>1048576</cb_buffer_size>
  <romio_cb_write>enable</romio_cb_write><romio_ds_write>disable</romio_ds_write>
</Middleware_Layer></Parameters>
"""


@dataclass
class Moved:
    """What all ranks moved of one dataset in one direction, as the witness saw it."""

    dimensions: int = 0
    bytes: int = 0
    calls: int = 0
    shares: dict[int, set[Point]] = field(default_factory=lambda: defaultdict(set))


def witnessed(folder: Path, work: Path) -> dict[tuple[str, str, bool], Moved]:
    found: dict[tuple[str, str, bool], Moved] = defaultdict(Moved)
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            seen = json.loads(line)
            name = str((work / seen["file"]).resolve())
            moved = found[name, seen["dataset"], seen["write"]]
            n = moved.dimensions = max(1, len(seen["dims"]))
            corners = seen["corners"]
            moved.calls += 1
            for i in range(0, len(corners), 2 * n):
                low, high = corners[i : i + n], corners[i + n : i + 2 * n]
                points = list(product(*(range(a, b + 1) for a, b in zip(low, high))))
                moved.bytes += seen["element"] * len(points)
                moved.shares[int(file.name)].update(points)
    return found


def is_run(indices: Iterable[int]) -> bool:
    """All that lies between the first and the last of them is there too."""
    got = set(indices)
    return bool(got) and max(got) - min(got) + 1 == len(got)


def dealt_in_turns(sets: Sequence[frozenset[int]]) -> int:
    """K where these are blocks of k dealt out in turns without a gap, else 0."""
    everything = set().union(*sets)
    if not is_run(everything) or sum(map(len, sets)) != len(everything):
        return 0
    first = min(everything)
    order = sorted(sets, key=min)
    k = next(i for i in range(len(everything) + 1) if first + i not in order[0])
    return k if all((i - first) // k % len(order) == owner
                    for owner, indices in enumerate(order) for i in indices) else 0  # fmt: skip


def named(sets: Sequence[frozenset[int]]) -> str:
    """The name that docs/descriptors.md gives to one dimension of a full grid."""
    if len(sets) == 1:
        return "*" if is_run(sets[0]) else "IRREGULAR"
    if all(map(is_run, sets)):
        order = sorted(sets, key=min)
        if all(max(a) + 1 == min(b) for a, b in zip(order, order[1:])):
            return "BLOCK"
    k = dealt_in_turns(sets)
    return "IRREGULAR" if k == 0 else "CYCLIC" if k == 1 else f"CYCLIC({k})"


def descriptor(moved: Moved) -> str:
    n = moved.dimensions
    shares = [share for share in moved.shares.values() if share]
    along = [[frozenset(p[d] for p in share) for d in range(n)] for share in shares]
    counts = [max(len(sets[d]) for sets in along) for d in range(n)]
    different = [sorted({sets[d] for sets in along}, key=min) for d in range(n)]
    products = all(math.prod(map(len, sets)) == len(share) for sets, share in zip(along, shares))
    places = [tuple(sets) for sets in along]
    held = {place: places.count(place) for place in places}
    grid = products and len(held) == math.prod(map(len, different)) and len({*held.values()}) == 1
    if grid:
        names = [named(sets) for sets in different]
    else:

        def undivided(d: int) -> bool:
            rest = [len({p[:d] + p[d + 1 :] for p in share}) for share in shares]
            whole = all(r * len(s[d]) == len(share) for r, s, share in zip(rest, along, shares))
            return whole and len(different[d]) == 1 and is_run(different[d][0])

        names = ["*" if undivided(d) else "IRREGULAR" for d in range(n)]
        if "IRREGULAR" not in names:
            names = ["IRREGULAR"] * n
    return f"<{n}D,({','.join(names)}),({','.join(map(str, counts))})>"


class Program:
    """A program of others: run bare, before the witness, recorded and tuned, in one place."""

    def __init__(self, place: Place, ranks: int, *command: object):
        self.place, self.ranks, self.command = place, ranks, command
        self.work = place.scratch / "work"

    def run(
        self, how: str, preload: Sequence[Path] = (), **env: Any
    ) -> tuple[Done, list[str], list[str]]:
        """How it ended, what each rank said, and what lies in its files."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        libraries = [*preload, *([self.place.shim] if self.ranks > 2 else [])]
        # A file for each rank: on one pipe their lines would mix.
        done = self.place.run(
            self.place.mpirun, "-outfile-pattern", "said.%r", "-n", self.ranks, *self.command,
            preload=libraries, cwd=self.work, seconds=150, HDF5_NOCLEANUP=1, **env,
        )  # fmt: skip
        said = [self.normal((self.work / f"said.{r}").read_text()) for r in range(self.ranks)]
        assert done.status == 0, f"{how}: {done.status}\n{said[0][-2000:]}\n{done.err.decode()}"
        assert done.said() == [], (how, done.said())
        return done, said, self.contents()

    def normal(self, text: str) -> str:
        return re.sub(r"\d+\.\d+ ?(s|sec|seconds)\b", "T", text)

    def contents(self) -> list[str]:
        """Of every HDF5 file that h5dump can read: some are parts, or hold nothing yet."""
        tool = shutil.which("h5dump")
        if not tool:
            return []
        dumps = []
        for file in sorted(self.work.glob("*.h5")):
            dump = subprocess.run([tool, file.name], cwd=self.work, capture_output=True,
                                  text=True, errors="replace", check=False)  # fmt: skip
            dumps.append(dump.stdout)
        return dumps

    def undisturbed(self) -> None:
        """The same with and without: for tests whose datasets change too often to be named."""
        place = self.place
        _, said, _ = self.run("bare")
        assert any("no errors" in text for text in said), said
        config = place.scratch / "config.xml"
        config.write_text(CONFIG)
        for mode in ("record", "tune"):
            place.trace.unlink(missing_ok=True)
            _, under, _ = self.run(mode, [place.library], IOTUNE_MODE=mode, IOTUNE_DB="none",
                                   IOTUNE_TRACE=place.trace, IOTUNE_CONFIG=config)  # fmt: skip
            assert under == said, (mode, under, said)
            assert place.summary()["ranks"] == self.ranks

    def check(self) -> dict[str, Any]:
        """All four runs; the recorded one's summary."""
        place = self.place
        bare, said, contents = self.run("bare")
        assert any("no errors" in text for text in said), said
        folder = place.scratch / "witness"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.run("witness", [place.build / "lib" / "libwitness.so"], WITNESS_DIR=folder)
        expected = {key: moved for key, moved in witnessed(folder, self.work).items()
                    if any(moved.shares.values())}  # fmt: skip
        assert expected, "the witness saw nothing"
        place.trace.unlink(missing_ok=True)
        config = place.scratch / "config.xml"
        config.write_text(CONFIG)
        for mode in ("record", "tune"):
            place.trace.unlink(missing_ok=True)
            done, said_under, contents_under = self.run(
                mode, [place.library], IOTUNE_MODE=mode, IOTUNE_TRACE=place.trace,
                IOTUNE_DB="none", IOTUNE_CONFIG=config,
            )  # fmt: skip
            assert done.status == bare.status and done.err == bare.err, (mode, done.err, bare.err)
            assert said_under == said, (mode, said_under, said)
            assert contents_under == contents, (mode, "the files differ")
            summary = place.summary()
            self.compare(summary, expected, mode)
            verdicts = [(c["texts"][1], c["numbers"][0], c["texts"][4]) for c in place.calls()
                        if c["name"] == "iotune_setting"]  # fmt: skip
            if mode == "record":
                assert verdicts == [], verdicts
                recorded = summary
            else:
                applied = {name for name, verdict, _ in verdicts if verdict == 0}
                assert applied >= {"alignment", "romio_cb_write", "cb_buffer_size"}, verdicts
            assert place.leftovers() == [], "buffers of a run that has its trace"
        return recorded

    def compare(self, summary: dict[str, Any], expected: dict[Any, Moved], mode: str) -> None:
        assert summary["ranks"] == self.ranks and summary["dropped"] == 0, summary
        assert summary["warnings"] == [], summary["warnings"]
        got = {(file["path"], d["dataset"], d["write"]): d
               for file in summary["files"] for d in file["datasets"]}  # fmt: skip
        wrong = [f"only recorded: {key}" for key in got.keys() - expected.keys()]
        for key, moved in expected.items():
            have = got.get(key)
            if have is None:
                wrong.append(f"not recorded: {key}")
                continue
            want = {"descriptor": descriptor(moved), "bytes": moved.bytes,
                    "ranks": sum(1 for share in moved.shares.values() if share)}  # fmt: skip
            this = {name: have[name] for name in want}
            this["descriptor"] = have["descriptor"]["text"]
            if this != want:
                wrong.append(f"{key}: recorded {this}, made {want}")
        assert not wrong, "\n".join([f"{mode}, {self.ranks} ranks: {self.command}", *wrong])


def ph5example(place: Place) -> None:
    program = place.bin / "foreign_ph5example"
    if not program.exists():
        not_verified("HDF5's own ph5example.c (Debian's libhdf5-doc) is not here")
        return
    for ranks in (2, 4):
        part = 24 // ranks
        summary = Program(place, ranks, program, "-c").check()
        texts = {
            (Path(file["path"]).name, d["dataset"], d["write"]): d["descriptor"]["text"]
            for file in summary["files"] for d in file["datasets"]
        }  # fmt: skip
        rows, columns = f"<2D,(BLOCK,*),({part},24)>", f"<2D,(*,BLOCK),(24,{part})>"
        assert texts["ParaEg0.h5", "/Data1", True] == rows, texts
        assert texts["ParaEg0.h5", "/Data2", True] == rows, texts
        assert texts["ParaEg1.h5", "/Data1", True] == rows, texts
        assert texts["ParaEg1.h5", "/Data2", True] == columns, texts
        assert texts["ParaEg0.h5", "/Data1", False] == rows, texts


def hdf5_tests(place: Place, ranks: Iterable[int], *groups: str) -> None:
    program = place.bin / "foreign_testphdf5"
    if not program.exists():
        not_verified("HDF5's own testphdf5 (Debian's source package of the installed HDF5) is "
                     "not here")  # fmt: skip
        return
    for n in ranks:
        for group in groups:
            only = [word for name in group.split() for word in ("-o", name)]
            Program(place, n, program, *only).check()


def testphdf5(place: Place) -> None:
    hdf5_tests(place, (2,), "idsetw idsetr", "cdsetw cdsetr", "ecdsetw ecdsetr", "cchunk1", "lccio")


def testphdf5_more(place: Place) -> None:
    hdf5_tests(place, (2, 4), "eidsetw eidsetr", "eidsetw2", "selnone", "ndsetw", "fill", "cchunk2",
               "cchunk3", "cchunk4", "ccontw ccontr", "cschunkw cschunkr", "tldsc", "cmpdsetr",
               "idsetw idsetr", "cdsetw cdsetr", "atomicity")  # fmt: skip


def testphdf5_whole(place: Place) -> None:
    """All of it: where a test reads tuned properties back, it must find them in order too."""
    program = place.bin / "foreign_testphdf5"
    if not program.exists():
        not_verified("HDF5's own testphdf5 is not here")
        return
    # bigdset demands the exact size of a file, which alignment changes.
    Program(place, 2, program, "-x", "bigdset").undisturbed()


def whole_with(place: Place, ranks: int, **how: str) -> None:
    program = place.bin / "foreign_testphdf5"
    if not program.exists():
        not_verified("HDF5's own testphdf5 is not here")
        return
    files = place.scratch / "files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    how = {name: value.replace("FILES", str(files)) for name, value in how.items()}
    done = place.mpi(ranks, program, cwd=files, IOTUNE_DB="none", seconds=540, **how)
    place.right(done, "testphdf5")
    assert b"finished with no errors" in done.out, done.out[-500:]


def testphdf5_logged(place: Place) -> None:
    """All of it on logged files: its ranks read what others wrote before a barrier."""
    whole_with(place, 4, IOTUNE_LOGSTORE="FILES")


def testphdf5_gathered(place: Place) -> None:
    """All of it, while small independent writes wait."""
    for mode in ("memory", "log"):
        whole_with(place, 2, IOTUNE_GATHER=mode)


if __name__ == "__main__":
    main({"ph5example": ph5example, "testphdf5": testphdf5, "testphdf5-more": testphdf5_more,
          "testphdf5-whole": testphdf5_whole, "testphdf5-logged": testphdf5_logged,
          "testphdf5-gathered": testphdf5_gathered})  # fmt: skip
