"""The environment modules: Environment Modules' own reader and Lmod's load and unload them.

LD_PRELOAD goes in front of what others preload, and on unloading only iotune's part leaves.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from support import preloaded
from support.installation import PROGRAM, command, install, preload_in, version
from support.place import Place, main, not_verified
from support.repository import ROOT

UNPACKED = ROOT / "build" / "packaging" / "modules"
# Libraries of others, as they stand in LD_PRELOAD: apart by a colon, by a space.
BEFORE = ("", "libm.so.6", "libm.so.6:libdl.so.2", "libm.so.6 libdl.so.2")


def reader(package: str, inner: str, interpreter: str) -> list[object] | None:
    """The reader of module files, installed or unpacked; None where there is none."""
    places = (Path("/"), UNPACKED / package)
    found = [path for place in places for path in place.glob(inner)]
    if not found or shutil.which(interpreter) is None:
        not_verified(f"environment modules: there is no {package} (tools/setup.sh packaging)")
        return None
    return [interpreter, found[0]]


def variables(place: Place, shell: str, preload: str) -> dict[str, str]:
    """What a shell has after reading `shell`, whose LD_PRELOAD was `preload`."""
    # env(1) itself must not be preloaded with what is only a name here.
    script = f'{preloaded.VARIABLE}="{preload}"; export {preloaded.VARIABLE}\n{shell}\n'
    script += 'printf "%s\\n" "$' + f'{{{preloaded.VARIABLE}-unset}}" "$PATH" "$IOTUNE_HOME"'
    script += ' "$IOTUNE_REPLAYER_DIR"'
    lines = command("bash", "-c", script, place=place).out.decode().split("\n")
    return dict(zip(("preload", "path", "home", "replayers"), lines))


def goes_and_comes_back(place: Place, words: list[object]) -> None:
    prefix = install(place)
    library = preload_in(prefix)
    modules = prefix / "share" / "modulefiles"
    name = f"iotune/{version()}"
    replayers = prefix / "share" / "iotune" / "replayers"
    for before in BEFORE:
        if before:  # from then on there is one
            replayers.mkdir(parents=True, exist_ok=True)
        # A shell that has loaded a module unloads it.
        tool = " ".join(f"'{word}'" for word in words)
        load = f'export MODULEPATH="{modules}"; eval "$({tool} bash load {name} 2>/dev/null)"'
        loaded = variables(place, load, before)
        parts = loaded["preload"].replace(" ", ":").split(":")
        assert parts[0] == str(library), loaded
        assert ":".join(parts[1:]) == before.replace(" ", ":"), (before, loaded)
        assert str(prefix / "bin") in loaded["path"].split(":"), loaded
        assert loaded["home"] == str(prefix), loaded
        assert loaded["replayers"] == (str(replayers) if before else ""), loaded
        away = variables(place, load + f'\neval "$({tool} bash unload {name} 2>/dev/null)"', before)
        assert away["preload"] in ({before} if before else {"", "unset"}), (before, away)
        assert str(prefix) not in away["path"] and away["home"] == "", away
        assert away["replayers"] == "", away
    # A program that is started while it is loaded.
    source = place.scratch / "user.c"
    source.write_text(PROGRAM)
    program = place.scratch / "user-program"
    command("cc", f"-I{prefix / 'include'}", source, "-o", program, place=place)
    done = command("bash", "-c", f"{load}\n'{program}'", place=place, IOTUNE_TRACE=place.trace)
    assert done.out.decode().strip() == "preloaded", done
    place.trace.unlink(missing_ok=True)
    off = command("bash", "-c", f"{load}\nexport IOTUNE_MODE=off; '{program}'", place=place,
                  IOTUNE_TRACE=place.trace)  # fmt: skip
    assert not place.trace.exists() and off.err == b"", off


def tcl(place: Place) -> None:
    words = reader("environment-modules", "usr/lib/*/modulecmd.tcl", "tclsh")
    if words is not None:
        goes_and_comes_back(place, words)


def lmod(place: Place) -> None:
    words = reader("lmod", "usr/share/lmod/*/libexec/lmod", "lua5.3")
    if words is not None:
        goes_and_comes_back(place, words)


if __name__ == "__main__":
    main({"tcl": tcl, "lmod": lmod})
