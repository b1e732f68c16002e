"""docs/howto/when-nothing-happens.md, whose list of checks is the catalogue.

`python -m iotune.doctor.page > docs/howto/when-nothing-happens.md` writes it anew.
"""

from __future__ import annotations

import textwrap

from iotune.doctor.catalogue import GROUPS, KINDS

_WIDTH = 100
_HEAD = """\
# When nothing happens

iotune changes nothing on any doubt, so a run may end as if it had not been there. `iotune doctor`
finds out why. It runs nothing of your program.

```
iotune doctor                                   this install
iotune doctor -- mpirun -n 4 ./program          a program, behind its launcher
iotune doctor --on /scratch/me -- ./program     with the directory that it writes to
```

Type what you would type behind `iotune run --`, on a node of the kind that runs it, with the job
script's modules loaded. A real answer, shortened:

```
$ iotune doctor -- mpirun.mpich -n 2 /usr/bin/meep
  mpi-library       works          Open MPI v4.1.4, ABI of Open MPI
                                   /lib/x86_64-linux-gnu/libmpi.so.40
  launcher          does not work  it is not Open MPI's, and the program loads
                                   Open MPI v4.1.4: each process will be a run
                                   of one rank
                                   /usr/bin/mpirun.mpich
                                   do: use the program's own, say mpirun.openmpi
```

Each check has an id, one of four verdicts, what was seen, and what to do.

| verdict | meaning |
| --- | --- |
| works | iotune does here what it can do |
| works partly | something is left out, and the evidence says what |
| does not work | nothing is recorded or tuned, or the program itself does not start |
| unknown | iotune cannot tell: try it with a small case |

The exit status is 1 where something does not work, 0 otherwise, and 2 for a command line that is
not understood. `--json` prints what python/iotune/schemas/doctor.schema.json describes.

## What the last run itself says

`iotune run` says in one line why it left no trace. `iotune explain` says of each file what was
refused, with the reason; `iotune show` what is missing in a trace. Start there if a run has ended.

Under a module or a bare `LD_PRELOAD`, everyday tools and programs that move little leave no trace:
`iotune show` then speaks of an earlier run. `iotune run -- ./program` always leaves one.
[Environment variables](../environment.md) says what is worth a trace without it.

## A support ticket

`iotune doctor --bundle ticket.tar.gz -- ./program` writes one file for those who help you, and
prints what is in it. These are the doctor's answer as JSON, versions, mounts, variables of iotune,
MPI, HDF5 and hints, and what `iotune show` and `iotune explain` say of the last run. A file that
is there is never replaced.

User names, host names, home directories, e-mail and network addresses are replaced. A folder that
is not the system's becomes a number, the same wherever it appears. The last names of files,
datasets and programs stay: look through the bundle before you send it.
"""
_TITLES = {
    "install": "Checks of the install and its surroundings",
    "mpi": "Checks of the MPIs",
    "program": "Checks of a program",
    "directory": "Checks of a directory",
}
_SAID = {
    "install": "Without a program all of these are made; with one, those that its run inherits: "
    "variables, site-limits, preloads, process-limits, storage-variables and user-hints.",
    "mpi": "Made without a program.",
    "program": "Made of each program of the command line (`mpirun -n 1 ./a : -n 2 ./b` has two).",
    "directory": "Made with `--on DIR`. Files are made in a scratch folder in DIR alone, which is "
    "removed.",
}


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for group in GROUPS:
        parts += [f"## {_TITLES[group]}\n", f"{_wrapped(_SAID[group])}\n"]
        for one in KINDS:
            if one.group == group:
                text = f"*What is looked at.* {one.looks}"
                parts += [f"### {one.id}\n", f"{_wrapped(text)}\n", f"{_wrapped(one.means)}\n"]
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    print(page(), end="")
