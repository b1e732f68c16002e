"""Small independent writes of MPI-IO, bare, under iotune, and gathered: from open to close."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import native, paired
from support import preloaded

RANKS = 2
# way, pieces a rank, bytes of a piece, the goal
CASES = (
    ("cyclic", 300_000, 8, 5.0),
    ("cyclic", 300_000, 20, 5.0),
    ("cyclic", 300_000, 64, 5.0),
    ("part", 1_000_000, 20, 8.0),
)


def main() -> int:
    options = paired.arguments(__doc__, rounds=7)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mpich"], capture_output=True,
                           text=True, check=True).stdout.split()  # fmt: skip
    program = native.compiled("piece_writes.c", options.out / "native", flags)
    library = (options.build / "lib" / "libiotune.so").resolve()
    table = paired.Table("gather")
    with tempfile.TemporaryDirectory(prefix="iotune-gather-", dir="/var/tmp") as folder:
        scratch = Path(folder)
        shm = Path(tempfile.mkdtemp(prefix="iotune-gather-", dir="/dev/shm"))

        def arm(name: str, case: tuple[str, int, int]) -> float:
            env = preloaded.plain_environment()
            for kind in ("DATA", "STATE", "CONFIG"):
                env[f"XDG_{kind}_HOME"] = str(scratch / kind.lower())
            if name != "bare":
                env |= preloaded.variables(library)
                env |= {"IOTUNE_TRACE": str(scratch / "run.iotrace"), "IOTUNE_DB": "none",
                        "IOTUNE_BUFFER_DIR": str(shm)}  # fmt: skip
            if name == "gathered":
                env["IOTUNE_GATHER"] = "memory"
            words = [case[0], scratch / name, case[1], case[2]]
            done = subprocess.run(
                ["mpirun.mpich", "-n", str(RANKS), str(program), *map(str, words)], env=env,
                check=True, stdout=subprocess.PIPE,
            )  # fmt: skip
            return float(done.stdout)

        try:
            for way, pieces, size, goal in CASES:
                what = f"{RANKS} x {pieces} pieces of {size} bytes, {way}"
                arms = {name: functools.partial(arm, name, (way, pieces, size))
                        for name in ("bare", "recorded", "gathered")}  # fmt: skip
                comparison = paired.compare(what, arms, options.rounds, seed=options.seed)
                contents = {(scratch / name).read_bytes() for name in arms}
                if len(contents) != 1:
                    raise paired.ArmFailed(f"{what}: the files differ")
                table.keep(comparison)
                table.add(f"{what}, bare, seconds", comparison.median("bare"))
                table.add(f"{what}, recorded, over bare", comparison.ratio("recorded", "bare"))
                table.judge(f"{what}, bare over gathered", comparison.ratio("bare", "gathered"),
                            paired.at_least(goal))  # fmt: skip
        finally:
            shutil.rmtree(shm, ignore_errors=True)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
