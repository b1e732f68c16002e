"""A gzip-chunked dataset read row by row by a serial program: with and without a trained answer."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

from bench import native
from bench.paired import Comparison, Table, arguments, at_least, compare
from support import preloaded
from support.repository import IOTUNE


def iotune(*words: str, env: dict[str, str]) -> str:
    program = str(IOTUNE)
    done = subprocess.run([program, *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def main() -> int:
    options = arguments(__doc__, rounds=9)
    build = options.build.resolve()
    home = (options.out / "chunk_rows").resolve()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "hdf5-mpich"], capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    program = native.compiled("gzip_rows.c", home, shlex.split(flags))
    file = home / "rows.h5"
    subprocess.run([str(program), "write", str(file)], check=True)
    plain = preloaded.plain_environment()
    for kind in ("DATA", "STATE", "CONFIG"):
        plain[f"XDG_{kind}_HOME"] = str(home / kind.lower())
    library = build / "lib" / "libiotune.so"
    tuned = plain | {
        **preloaded.variables(library),
        "IOTUNE_TRACE": str(home / "last.iotrace"),
        "IOTUNE_EXPLORE": "off",
    }
    sums: set[str] = set()

    def run(env: dict[str, str]) -> float:
        done = subprocess.run(
            [str(program), "read", str(file)], env=env, capture_output=True, text=True, check=True
        )
        seconds, total = done.stdout.split()
        sums.add(total)
        return float(seconds)

    run(tuned)
    reported = iotune("train", "--rounds", "3", env=plain | {"IOTUNE_LIB": str(library)})
    print(reported, file=sys.stderr)
    comparison: Comparison = compare(
        "chunk_rows", {"default": lambda: run(plain), "iotune": lambda: run(tuned)}, options.rounds,
        seed=options.seed,
    )  # fmt: skip
    assert len(sums) == 1, f"other bytes were read: {sums}"
    table = Table("chunk_rows")
    table.keep(comparison)
    table.add("default, seconds", comparison.median("default"))
    table.add("iotune, seconds, recording included", comparison.median("iotune"))
    table.add("iotune against default", comparison.ratio("default", "iotune"), at_least(20))
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
