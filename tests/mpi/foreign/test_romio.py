"""ROMIO's own tests say the same under the preload, recording and tuning, on logged files and with
small writes gathered, and leave equal files.
"""

from __future__ import annotations

import hashlib
import re
import shutil

from support.log_containers import copy_of_logs
from support.place import Place, main, not_verified
from support.preloaded import Done

# How the program takes its file, where not by -fname.
ARGUMENTS = {"aggregation1": ["-h", "-f", "file"], "aggregation2": ["file"], "hindexed": ["file"]}
RANKS = {"i_noncontig": 2, "noncontig": 2, "noncontig_coll": 2}
ARMS = ("record", "tune", "logged", "memory", "log")
SOME = ("simple", "misc", "split_coll", "shared_fp", "noncontig_coll", "darray_read")

CONFIG = """<Parameters><Middleware_Layer>
  <cb_nodes>1</cb_nodes><cb_buffer_size>1048576</cb_buffer_size>
</Middleware_Layer></Parameters>
"""

# Ranks share a file pointer: whose turn it is differs between any two runs.
IN_ANY_ORDER = {"shared_fp"}
# Writes memory that it never set: what malloc left there differs between any two arms.
UNSET_MEMORY = {"status"}
# Reads its file by fopen, for which a log is a directory.
READS_BY_STDIO = {"external32"}


def said(done: Done) -> list[str]:
    """Lines of all ranks in no order; times and rates differ between any two runs."""
    lines = (done.out + b"\n" + done.err).decode(errors="replace").splitlines()
    return sorted(re.sub(r"\d+\.\d+", "N", line) for line in lines if line)


def one(place: Place, name: str) -> bool:
    program = place.bin / f"romio_{name}"
    ranks = RANKS.get(name, 4)
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    here = place.scratch / "here"
    at_close = "flatten" if name in READS_BY_STDIO else "keep"
    seen = {}
    for arm in ("bare", "again", *ARMS):
        place.clear()
        here.mkdir()
        done = place.mpi(
            ranks, program, *ARGUMENTS.get(name, ["-fname", "file"]), cwd=here,
            preload=arm in ARMS,
            IOTUNE_MODE="record" if arm in ("record", "logged") else "tune",
            IOTUNE_GATHER=arm if arm in ("memory", "log") else None,
            IOTUNE_LOGSTORE=here if arm == "logged" else None,
            IOTUNE_LOGSTORE_CLOSE=at_close if arm == "logged" else None,
            IOTUNE_CONFIG=config if arm == "tune" and name != "file_info" else None,
            IOTUNE_DB="none",
        )  # fmt: skip
        if arm == "logged" and at_close == "keep":
            flat = copy_of_logs(place, here)
            if flat is None:
                return False
            shutil.rmtree(here)
            flat.rename(here)
        files = {p.name: hashlib.sha1(p.read_bytes()).hexdigest() for p in here.rglob("*")
                 if p.is_file()}  # fmt: skip
        seen[arm] = (done.status, said(done), files)
        shutil.rmtree(here)
        if arm == "bare" and done.status != 0:
            not_verified(f"ROMIO's {name}: status {done.status} without iotune, too")
            return False
    # Some write memory that nobody has set, or the last writer wins.
    status, lines, files = seen["bare"]
    steady = {file for file, contents in files.items() if seen["again"][2].get(file) == contents}
    if name in IN_ANY_ORDER | UNSET_MEMORY:
        steady = set()
    assert seen["again"][:2] == (status, lines), (name, seen)
    for arm in ARMS:
        assert seen[arm][:2] == (status, lines), (name, arm, seen["bare"], seen[arm])
        assert seen[arm][2].keys() == files.keys(), (name, arm, files, seen[arm])
        assert all(seen[arm][2][file] == files[file] for file in steady), (name, arm, seen)
    names = {call["name"] for call in place.calls()}
    assert "MPI_File_open" in names, (name, names)
    return True


def run(place: Place, names: tuple[str, ...]) -> None:
    if not names or not (place.bin / "romio_simple").exists():
        not_verified("ROMIO's own tests are not here (tools/setup.sh companions)")
        return
    equal = [name for name in names if one(place, name)]
    print(f"{len(equal)} of {len(names)} equal: {' '.join(equal)}")


def all_of_them(place: Place) -> None:
    run(place, tuple(sorted(p.name[6:] for p in place.bin.glob("romio_*"))))


if __name__ == "__main__":
    main({"some": lambda place: run(place, SOME), "all-of-them": all_of_them})
