"""How many arrays of drawn files are found in their bytes, and how many names are wrong.

A log has the bytes that ranks moved and not the arrays. Files of 1 to 30 arrays are drawn, with
gaps, metadata, halos and absent ranks. Every name is written out as bytes and compared with those
that were drawn, so a name is wrong where its bytes differ. Then HDF5's own calls judge what is
found without them (judged_by_hdf5.py). Then what large runs and logs cost (large_runs.py): some ten
minutes; with --shrink 100 a look at whether it works.
"""

from __future__ import annotations

import json
import subprocess
import sys

from bench import paired
from bench.logs import judged_by_hdf5, large_runs

FILES = 400


def main() -> int:
    """Draw, print and write build/bench/logs.json."""
    options = paired.arguments(__doc__, rounds=1, shrink=1)
    table = paired.Table("logs")
    done = subprocess.run(
        [str(options.build / "bin" / "drawn_arrays"), str(options.seed), str(FILES)],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    table.add(f"arrays drawn in {FILES} files", found["arrays"])
    table.add(
        "named right, %", 100 * found["right"] / found["arrays"], paired.at_least(95, "%")
    )  # fmt: skip
    table.add("of these under a name with equal neighbours, %",
              100 * found["joined"] / found["arrays"])  # fmt: skip
    table.add("named by their bytes with other ends than drawn", found["other"])
    table.add("named wrong", found["wrong"], paired.at_most(0, ""))
    judged_by_hdf5.measure(table, options.build.resolve())
    large_runs.measure(table, options.build, options.out, options.shrink)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
