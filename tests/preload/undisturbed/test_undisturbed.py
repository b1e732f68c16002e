"""Ordinary programs print, answer and write the same under the preload as without it."""

from __future__ import annotations

import shutil
import subprocess
import sys

from support import preloaded
from support.place import Place, main, not_verified
from support.undisturbed import PYTHON, compare

BASH = r"""
set -u
echo one > a.txt; echo two >> a.txt; cat a.txt; cat < a.txt | tr a-z A-Z
exec 7> b.txt; echo seven >&7; exec 8>&7; echo eight >&8; exec 7>&-; echo still >&8; exec 8>&-
cat b.txt; wc -c a.txt b.txt
exec 9<> c.txt; echo abc >&9; exec 9>&-
( cd / && echo sub > "$OLDPWD/d.txt"; exit 3 ); echo "sub $?"
for i in 1 2 3 4 5; do ( echo "child $i" >> e.txt ) & done; wait; sort -o e.txt e.txt; cat e.txt
cat nothere; echo "cat $?"
{ bash -c 'kill -9 $$'; } 2> /dev/null; echo "killed $?"
echo x > /dev/full; echo "full $?"
read -r line < a.txt; echo "$line"
coproc tr a-z A-Z; echo coproc >&"${COPROC[1]}"; eval "exec ${COPROC[1]}>&-"; cat <&"${COPROC[0]}"
ulimit -n 40; echo nofile > f.txt; cat f.txt
python3 -c 'import sys; sys.exit(9)'; echo "python $?"
exec /bin/sh -c 'echo last; exit 42'
"""


def bash(place: Place) -> None:
    script = place.scratch / "script"
    script.write_text(BASH)
    compare(place, "bash", script)
    # It was really loaded and saw the redirections.
    assert place.ours(), "the shell wrote files, but iotune has recorded nothing"


def python(place: Place) -> None:
    # SQLite's file has a random part and is compared by its contents through the query above.
    compare(place, sys.executable, "-c", PYTHON, ignore=("s.db",))


def gcc(place: Place) -> None:
    if shutil.which("gcc") is None:
        not_verified("there is no gcc")
        return
    source = place.scratch / "p.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("made"); return 3; }\n')
    compare(place, "sh", "-c", f"gcc -O1 -o made '{source}' && ./made")
    broken = place.scratch / "q.c"
    broken.write_text("int main(void) { return no_such_name; }\n")
    compare(place, "sh", "-c", f"echo > some; gcc -c '{broken}'")


def archives(place: Place) -> None:
    source = place.scratch / "tree"
    (source / "deep").mkdir(parents=True)
    for number in range(20):
        (source / "deep" / f"file{number}").write_bytes(bytes([number]) * (number * 1000))
    compare(
        place, "sh", "-c",
        f"cp -a '{source}' copy && tar cf - copy | tar xf - --transform s/copy/again/ &&"
        " diff -r copy again && dd if=copy/deep/file19 of=part bs=512 count=7 skip=3 2>/dev/null &&"
        " gzip -kn again/deep/file7 && truncate -s 100 copy/deep/file3 && sort -o s copy/deep/file1"
        " && git init -q . 2>/dev/null; rm -rf .git; ls -R",
    )  # fmt: skip


def errno(place: Place) -> None:
    """Calls that succeed leave errno alone, also where ours ask a stream for a position."""
    program = place.bin / "errno_of_streams"
    compare(place, "sh", "-c", '"$0" fifo > said && cat said', program)


def nothing_left(place: Place) -> None:
    """No file before the first traced access: a site may load the module for everyone."""
    commands: list[tuple[object, ...]] = [
        ("/bin/true",), ("/bin/sh", "-c", "exit 0"), (sys.executable, "-c", "print(1)"),
        ("bash", "-c", "echo hello | cat; ls / > /dev/null"), ("env",),
    ]  # fmt: skip
    if shutil.which(place.mpirun) is not None:
        commands.append((place.mpirun, "-n", "2", "hostname"))
    else:
        not_verified(f"there is no {place.mpirun}")
    for command in commands:
        bare = place.run(*command, preload=False)
        under = place.run(*command, IOTUNE_TRACE=None)
        if command != ("env",):
            assert under.same_as(bare), (command, bare, under)
        else:
            # Nothing may show but the preload itself.
            new = set(under.out.splitlines()) - set(bare.out.splitlines())
            assert new == {preloaded.setting(place.library).encode()}, new
        left = [p for root in (place.state, place.data, place.buffers, place.scratch / "home")
                for p in root.rglob("*")]  # fmt: skip
        assert left == [], (command, left)
    # The same check sees files where there has been an access.
    place.right(place.run("sh", "-c", "echo x > traced", IOTUNE_TRACE=None))
    assert place.ours(), "a write left nothing: the check above proves nothing"
    blind = subprocess.run(["env", "-i", "true"], check=False)
    assert blind.returncode == 0


if __name__ == "__main__":
    main({"bash": bash, "python": python, "gcc": gcc, "archives": archives,
          "errno": errno, "nothing-left": nothing_left})  # fmt: skip
