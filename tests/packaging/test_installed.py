"""`cmake --install`: what a compiler finds, and that the target `uninstall` leaves nothing."""

from __future__ import annotations

from pathlib import Path

from support.installation import PROGRAM, command, install, preload_in
from support.place import Place, main

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(iotune 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE iotune::header)
file(WRITE ${CMAKE_BINARY_DIR}/preload.txt "${iotune_PRELOAD}")
"""


def said_by(place: Place, program: Path, library: Path) -> tuple[str, str]:
    """What the program says without the preload and under it."""
    bare = place.right(place.run(program, preload=False)).out.decode().strip()
    under = place.right(place.run(program, preload=[library], IOTUNE_TRACE=place.trace))
    return bare, under.out.decode().strip()


def find_package(place: Place) -> None:
    prefix = install(place)
    source = place.scratch / "user"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT)
    (source / "user.c").write_text(PROGRAM)
    built = place.scratch / "user-build"
    command("cmake", "-S", source, "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}", place=place)
    command("cmake", "--build", built, place=place)
    library = Path((built / "preload.txt").read_text())
    assert library.resolve() == preload_in(prefix).resolve(), library
    assert said_by(place, built / "user", library) == ("alone", "preloaded")
    # A version that is not there.
    (source / "CMakeLists.txt").write_text(PROJECT.replace("iotune 0.1", "iotune 7.0"))
    refused = place.run("cmake", "-S", source, "-B", place.scratch / "other",
                        f"-DCMAKE_PREFIX_PATH={prefix}", preload=False)  # fmt: skip
    assert refused.status != 0 and b"7.0" in refused.err, refused


def pkg_config(place: Place) -> None:
    # Moved after the installation: nothing in it holds its prefix.
    moved = install(place).rename(place.buffers / "moved")
    (found,) = moved.rglob("iotune.pc")
    search = {"PKG_CONFIG_PATH": found.parent}
    flags = command("pkg-config", "--cflags", "iotune", place=place, **search).out.decode().split()
    preload = command("pkg-config", "--variable=preload", "iotune", place=place, **search)
    source = place.scratch / "user.c"
    source.write_text(PROGRAM)
    program = place.scratch / "user-program"
    command("cc", *flags, source, "-o", program, place=place)
    library = Path(preload.out.decode().strip()).resolve()
    assert library == preload_in(moved).resolve(), library
    assert said_by(place, program, library) == ("alone", "preloaded")


def uninstall(place: Place) -> None:
    prefix = install(place)
    # What Python compiled goes, and what others have there stays.
    for package in prefix.rglob("*-packages/iotune"):
        (package / "__pycache__").mkdir()
        (package / "__pycache__" / "core.cpython-311.pyc").write_bytes(b"compiled")
    other = prefix / "lib" / "other.so"
    other.write_bytes(b"another's")
    assert (prefix / "include" / "iotune.h").is_file()
    assert list((prefix / "share" / "doc" / "iotune" / "licences").iterdir())
    command("cmake", "--build", place.build, "--target", "uninstall", place=place)
    assert sorted(prefix.rglob("*")) == [prefix / "lib", other]
    # There is nothing to remove a second time, and that is said.
    again = place.run("cmake", "--build", place.build, "--target", "uninstall", preload=False)
    assert again.status != 0 and b"nothing was installed" in again.out + again.err, again


if __name__ == "__main__":
    main({"find_package": find_package, "pkg_config": pkg_config, "uninstall": uninstall})
