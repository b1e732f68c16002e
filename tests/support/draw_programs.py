"""Seeded scripts for torture_program, and seeded settings to run them under.

Every script is right: each collective call is made by all ranks of its communicator, ranks write
no byte twice with different values, and what is read was written (or filled by HDF5) and flushed
before, because bytes that nobody wrote are undefined: two bare runs differ there. Within that
anything goes that real programs were seen to do: ranks that skip, uneven parts, datasets in
another order on each rank, files never closed, early ends.

Commands (F, D: numbers of a file and a dataset; SHAPE rows, cyclic, columns, uneven, whole; WHO
all, odd, first, last, notlast):
    create|open F NAME COMM INFO FLAGS    serial F NAME       close F        flush F
    dataset F D NAME LAYOUT ROWS COLUMNS  dopen F D NAME      dclose D       attribute F NAME
    write|read D coll|indep SHAPE WHO     rotate SHAPE D D D  grow D ROWS
    mpiopen F NAME COMM INFO FLAGS        mpiwrite|mpiread F at|at_all|view ROWS COLUMNS SHAPE WHO
    mpisync F  mpiclose F                 barrier             straggle RANK MICROSECONDS
    plain NAME  commfree                  end finalize|leave|status|abort|early|segv
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

SHAPES = ("rows", "cyclic", "columns", "uneven", "whole")
WHO = ("all", "all", "all", "odd", "first", "last", "notlast")
OWN_HINTS = ("-", "-", "-", "cb_nodes=1", "romio_cb_write=disable", "cb_buffer_size=65536")

# The parameters of patterndb/settings/parameters.h, with values that differ from the defaults. Not
# evict_on_close: a user who asks for it takes the risk that a program's second open of a file,
# which iotune gives no settings, fails beside the first one.
SETTINGS: dict[str, tuple[str, ...]] = {
    "alignment": ("0,4096", "4096,4096", "65536,65536", "1,1048576"),
    "meta_block_size": ("0", "65536", "1048576"),
    "sieve_buf_size": ("0", "4096", "4194304"),
    "coll_metadata_write": ("enable", "disable"),
    "chunk_cache": ("0", "4096", "33554432"),
    "chunk": ("1,4", "4,4", "8,8", "16"),
    "dxpl_mpio_collective_opt": ("collective", "individual"),
    "cb_nodes": ("1", "2", "4"),
    "cb_config_list": ("*:1", "*:2", "*:*"),
    "cb_buffer_size": ("4096", "65536", "8388608"),
    "romio_cb_write": ("enable", "disable", "automatic"),
    "romio_cb_read": ("enable", "disable", "automatic"),
    "romio_ds_write": ("enable", "disable", "automatic"),
    "romio_ds_read": ("enable", "disable", "automatic"),
    "ind_rd_buffer_size": ("4096", "1048576"),
    "ind_wr_buffer_size": ("4096", "1048576"),
    "striping_factor": ("2", "16"),
    "striping_unit": ("65536", "4194304"),
    # Behind the others: what they draw stays what it was.
    "fill_time": ("never", "ifset"),
    "libver_low": ("v18", "v110"),
    "fadvise": ("sequential", "random"),
    "fallocate": ("65536", "4194304"),
    "romio_no_indep_rw": ("true", "false"),
    "romio_cb_pfr": ("enable", "automatic"),
    "romio_cb_alltoall": ("enable", "disable"),
    "romio_cb_ds_threshold": ("50", "100"),
    "romio_lustre_co_ratio": ("2",),
    "romio_lustre_coll_threshold": ("65536",),
    "romio_lustre_ds_in_coll": ("disable",),
    "collective_buffering": ("true", "false"),
    "cray_cb_nodes_multiplier": ("2",),
    "cray_cb_write_lock_mode": ("1", "2"),
    "page_buffer": ("4096", "65536", "1048576"),
    "mdc_size": ("65536", "1048576", "33554432"),
    "overstriping": ("enable", "disable"),
}


# What a database knows of a program, where its settings come out of one: answers for its very
# patterns; the same, and every run stays at the default to compare; answers for patterns a little
# larger; no answer at all, so that a series of files may try candidates.
KNOWN = ("exact", "exact", "similar", "similar", "explore", "nothing")


@dataclass
class Program:
    """One script, how its ranks are started, and the settings that it is to bear."""

    seed: int
    ranks: int
    # all: every rank loaded; partial: some are not; mpmd: two executables; record: one rank only
    # records; hints: one rank alone has hints of its user's.
    launch: str
    apart: int  # how many ranks, the last, are different
    storage: str  # what stands beneath: nothing, or fake_storage.c as a kind
    lines: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    known: str = ""  # of KNOWN; else the settings are asked for in IOTUNE_CONFIG
    # Or sample, as of a bare preload: then calls on dataspaces give way.
    record: str = "all"

    @property
    def script(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def learned_from(self) -> str:
        """The script to watch first: one that ends well, for who dies teaches nothing."""
        return "\n".join([*self.lines[:-1], "end finalize"]) + "\n"

    @property
    def larger(self) -> str:
        """That one with a seventh more rows: other patterns, which resemble its own."""
        more = {"dataset": 5, "grow": 2, "mpiwrite": 3, "mpiread": 3}
        lines = []
        for line in self.learned_from.splitlines():
            words = line.split()
            if (place := more.get(words[0])) is not None:
                words[place] = str(int(words[place]) * 8 // 7 + 1)
            lines.append(" ".join(words))
        return "\n".join(lines) + "\n"

    @property
    def config(self) -> str:
        leaves = "".join(f"  <{n}>{v}</{n}>\n" for n, v in self.settings.items())
        return (
            "<Parameters><High_Level_IO_Library>\n"
            + leaves
            + "</High_Level_IO_Library></Parameters>"
        )


class _Writer:
    """Writes one program's script."""

    def __init__(self, draw: random.Random, ranks: int, lines: list[str]) -> None:
        self.draw, self.ranks, self.lines = draw, ranks, lines
        self.files = self.sets = 0

    def add(self, *words: object) -> None:
        self.lines.append(" ".join(map(str, words)))

    def sometimes(self) -> None:
        """What may stand between any two calls."""
        if self.draw.random() < 0.15:
            rank, time_us = self.draw.randrange(self.ranks), self.draw.choice((500, 5000, 30000))
            self.add("straggle", rank, time_us)
        if self.draw.random() < 0.1:
            self.add("barrier")

    def shape(self) -> str:
        return self.draw.choice(SHAPES)

    def hdf5_file(self, close: bool = True) -> None:
        draw, file = self.draw, self.files
        self.files += 1
        name = f"h{file}.h5"
        comm = draw.choice(("world", "world", "world", "parity", "self"))
        flags = draw.choice(("trunc", "trunc", "excl", "own"))
        self.add("create", file, name, comm, draw.choice(OWN_HINTS), flags)
        names = []
        for _ in range(draw.randint(1, 3)):
            names.append(self.dataset(file))
            self.sometimes()
        for number, _, layout, _ in names:
            self.write_set(number, layout)
        plain = [n for n, _, layout, _ in names if layout != "gzip"]
        if len(plain) == 3 and draw.random() < 0.7:
            self.add("rotate", self.shape(), *plain)
        if draw.random() < 0.5:
            self.add("attribute", file, f"note{draw.randint(1, 99)}")
        if draw.random() < 0.4:
            self.add("flush", file)
            self.add("barrier")
            self.read_sets(names)
        for number, *_ in names:
            self.add("dclose", number)
        if not close:
            return
        self.add("close", file)
        self.sometimes()
        if draw.random() < 0.5:
            self.reopened(file, name, comm, names)

    def dataset(self, file: int) -> tuple[int, str, str, int]:
        number = self.sets
        self.sets += 1
        layout = self.draw.choice(("plain", "plain", "filled", "chunk", "gzip", "grow"))
        rows, columns = self.draw.randint(1, 60), self.draw.choice((1, 3, 16, 64, 257))
        name = f"d{number}"
        self.add("dataset", file, number, name, layout, rows, columns)
        return number, name, layout, rows

    def write_set(self, number: int, layout: str) -> None:
        # HDF5 writes compressed chunks collectively only.
        mode = "coll" if layout == "gzip" else self.draw.choice(("coll", "coll", "indep"))
        for i in range(self.draw.randint(1, 3)):
            who = "all" if layout == "plain" and i == 0 else self.draw.choice(WHO)
            self.add("write", number, mode, self.shape(), who)
            self.sometimes()

    def read_sets(self, names: list[tuple[int, str, str, int]]) -> None:
        for number, *_ in names:
            mode = self.draw.choice(("coll", "indep"))
            self.add("read", number, mode, self.shape(), self.draw.choice(WHO))

    def reopened(self, file: int, name: str, comm: str,
                 names: list[tuple[int, str, str, int]]) -> None:  # fmt: skip
        self.add("barrier")
        writes = self.draw.random() < 0.5
        self.add("open", file, name, comm, self.draw.choice(OWN_HINTS),
                 "rdwr" if writes else "rdonly")  # fmt: skip
        for number, set_name, layout, rows in names:
            self.add("dopen", file, number, set_name)
            if writes and layout == "grow":
                self.add("grow", number, rows + self.draw.randint(1, 20))
        self.read_sets(names)
        if writes:
            self.add("barrier")
            for number, _, layout, _ in names:
                self.write_set(number, layout)
        for number, *_ in names:
            self.add("dclose", number)
        self.add("close", file)

    def mpiio_file(self) -> None:
        draw, file = self.draw, self.files
        self.files += 1
        comm = draw.choice(("world", "world", "parity", "self"))
        name = f"m{file}.bin"
        self.add("mpiopen", file, name, comm, draw.choice(OWN_HINTS), "create")
        rows, columns = draw.randint(1, 60), draw.choice((1, 7, 64, 257))
        for i in range(draw.randint(1, 3)):
            form = draw.choice(("at", "at_all", "view"))
            who = "all" if i == 0 else draw.choice(WHO)
            self.add("mpiwrite", file, form, rows, columns, self.shape(), who)
            self.sometimes()
        self.add("mpisync", file)
        self.add("barrier")
        self.add("mpisync", file)
        form = draw.choice(("at", "view"))
        self.add("mpiread", file, form, rows, columns, self.shape(), draw.choice(WHO))
        self.add("mpiclose", file)


def draw_program(seed: int) -> Program:
    """The program of that seed, always the same."""
    draw = random.Random(f"torture {seed}")
    ranks = draw.choice((2, 2, 3, 4))
    launch = draw.choice(("all",) * 6 + ("partial", "mpmd", "record", "hints"))
    storage = draw.choice(("", "", "lustre", "ceph"))
    program = Program(seed, ranks, launch, draw.randint(1, ranks - 1), storage)
    writer = _Writer(draw, ranks, program.lines)
    end = draw.choice(("finalize",) * 6 + ("leave", "status", "abort", "early", "segv"))
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        if kind < 0.7:
            writer.hdf5_file()
        elif kind < 0.95:
            writer.mpiio_file()
        else:
            writer.add("serial", writer.files, f"s{writer.files}.h5")
            writer.add("close", writer.files)
            writer.files += 1
        writer.sometimes()
    if draw.random() < 0.2:
        writer.add("commfree")
    if draw.random() < 0.2:
        writer.add("open", 7, "nowhere.h5", "world", "-", "rdonly")
    if draw.random() < 0.2:
        writer.add("plain", "p.txt")
    if end == "leave":
        writer.hdf5_file(close=False)
    writer.add("end", end)
    for name, values in SETTINGS.items():
        if draw.random() < 0.4:
            program.settings[name] = draw.choice(values)
    # By a draw of its own, so that the other seeds' programs stay what they were.
    known = random.Random(f"torture answers {seed}")
    # A run that is not loaded whole decides nothing, and files of some ranks alone are not known.
    of_all = any(line.startswith("create") and " world " in line for line in program.lines)
    if launch not in ("partial", "record") and of_all and known.random() < 0.6:
        program.known = known.choice(KNOWN)
    if program.known not in ("", "nothing"):
        # Files that differ by a number alone are one workload, whose patterns change: nothing that
        # merely resembles them is trusted.
        program.lines = [
            re.sub(r"\b([hs])(\d)\.h5", _with_a_letter, line) for line in program.lines
        ]
    program.record = random.Random(f"torture records {seed}").choice(("all", "sample"))
    return program


def _with_a_letter(name: re.Match[str]) -> str:
    return f"{name[1]}{'abcdefgh'[int(name[2])]}.h5"
