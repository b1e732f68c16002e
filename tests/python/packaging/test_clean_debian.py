"""A wheel and the Debian package, installed where there is nothing else, used, and removed again.

In roots that debootstrap makes: Debian 12, and for the wheel Debian 11, whose glibc is 2.31. An
archive with glibc 2.28 itself is not at hand: that far test_portable.py reads symbol versions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import iotune
from support import preloaded
from support.installed.package_files import PACKAGE, output
from support.repository import ROOT

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.getuid() != 0, reason="NOT VERIFIED clean roots: needs root"),
]

# What a user does first; the last lines say what is left of the package.
USE = """
set -e
{install}
iotune --version
iotune lib
iotune run -- /usr/bin/python3 -c "open('/root/written', 'wb').write(b'x' * 300000)"
iotune show
export IOTUNE_TRACE=/root/bare.iotrace
env {preload}=$(iotune lib) dd if=/root/written of=/root/copy bs=1000
iotune show /root/bare.iotrace
echo GLIBC $(ldd --version | head -n 1)
{remove}
echo LEFT: $(find / -xdev -iname '*iotune*' -not -path "/root/iotune*" -not -path '/proc/*' \\
  -not -path '/tmp/*' -not -path '/dev/*')
"""
WHEEL = """
apt-get -qq update
apt-get -qq install -y --no-install-recommends python3-venv >/dev/null 2>&1
python3 -m venv /root/e
/root/e/bin/pip install --quiet --no-index --find-links wheels iotune
export PATH=/root/e/bin:$PATH
"""
DEBIAN = """
apt-get -qq update
apt-get -qq install -y --no-install-recommends ./*.deb >/dev/null 2>&1
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder for the roots: outside of the checkout, with room."""
    folder = Path("/var/tmp") / f"iotune-packaging-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def used(place: Path, suite: str, copy: Path, install: str, remove: str) -> str:
    """What the session prints."""
    script = USE.format(install=install, remove=remove, preload=preloaded.VARIABLE)
    done = subprocess.run(
        [ROOT / "tools" / "clean_root.sh", "--root", place, "--suite", suite, "--copy", copy, "--",
         "bash", "-c", script],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "293.0 KiB written" in done.stdout and "/root/copy" in done.stdout, done.stdout
    return done.stdout


def left(text: str) -> list[str]:
    """Paths that are left, without those of the user's own runs."""
    (line,) = (line for line in text.splitlines() if line.startswith("LEFT:"))
    own = ("/root/.local/state/iotune", "/root/.local/share/iotune")
    return [path for path in line.split()[1:] if not path.startswith(own)]


def wheels_for(python: str, folder: Path) -> Path:
    """A wheel for an interpreter, made now, and what it depends on."""
    version = subprocess.check_output(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True
    ).strip()
    subprocess.run([ROOT / "tools" / "wheel.sh", python], check=True)
    tag = "cp" + version.replace(".", "")
    (wheel,) = (ROOT / "build" / "wheels").glob(f"iotune-*-{tag}-{tag}-manylinux_2_28_*.whl")
    assert wheel.stat().st_size <= 16 * 1024 * 1024
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    shutil.copy(wheel, wheels)
    subprocess.run(
        [ROOT / ".venv" / "bin" / "python", "-m", "pip", "download", "--quiet", "-d", wheels,
         "--only-binary", ":all:", "--python-version", version, "--implementation", "cp",
         "--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64", wheel],
        check=True,
    )  # fmt: skip
    return wheels


def python_of(version: str) -> str:
    """An interpreter of that version; skips where there is none."""
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    # A shim of a version manager is on PATH without the interpreter.
    for candidate in (*map(str, managed), shutil.which(f"python{version}") or ""):
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    pytest.skip(f"NOT VERIFIED wheel for Python {version}: there is no such interpreter here")


@pytest.mark.parametrize(
    ("suite", "version", "glibc"), [("bookworm", "3.11", "2.36"), ("bullseye", "3.9", "2.31")]
)
def test_a_wheel_serves_a_clean_debian(
    place: Path, tmp_path: Path, suite: str, version: str, glibc: str
) -> None:
    own = ROOT / ".venv" / "bin" / "python"
    wheels = wheels_for(str(own) if version == "3.11" else python_of(version), tmp_path)
    text = used(place, suite, wheels, WHEEL, "/root/e/bin/pip uninstall -q -y iotune")
    (line,) = (line for line in text.splitlines() if line.startswith("GLIBC "))
    assert line.endswith(glibc), line
    assert left(text) == []


def test_a_folder_bound_from_outside_serves_a_container_with_another_glibc(
    place: Path, tmp_path: Path
) -> None:
    """As docs/howto/containers.md says, by bubblewrap: Apptainer is not at hand."""
    if shutil.which("bwrap") is None:
        pytest.skip("NOT VERIFIED containers: there is no bwrap (tools/setup.sh packaging)")
    subprocess.run(
        [ROOT / "tools" / "clean_root.sh", "--root", place, "--suite", "bullseye", "--", "true"],
        check=True, capture_output=True,
    )  # fmt: skip
    inside = [
        *("bwrap", "--ro-bind", place / "run", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--tmpfs", "/dev/shm", "--tmpfs", "/tmp", "--ro-bind", PACKAGE / "lib", "/mnt"),
        *("--bind", tmp_path, "/srv", "--unshare-pid", "--clearenv"),
        *("--setenv", "PATH", "/usr/bin:/bin", "--setenv", "IOTUNE_TRACE", "/srv/run.iotrace"),
        *("--setenv", preloaded.VARIABLE, "/mnt/libiotune.so"),
    ]
    wrote = "head -c 300000 /dev/zero >/srv/zeros && dd if=/srv/zeros of=/srv/copy bs=30000"
    assert "2.31" in output(*inside, "ldd", "--version")
    (tmp_path / "run.iotrace").unlink(missing_ok=True)
    done = subprocess.run(list(map(str, [*inside, "sh", "-c", wrote])), capture_output=True)
    assert done.returncode == 0 and b"symbol" not in done.stderr, done
    run = iotune.open_trace(tmp_path / "run.iotrace")
    assert "/srv/copy" in {file.path for file in run.summary.files}


def test_the_debian_package_serves_a_clean_debian(place: Path, tmp_path: Path) -> None:
    subprocess.run([ROOT / "packaging" / "debian" / "build.sh", tmp_path], check=True)
    (package,) = tmp_path.glob("iotune_*.deb")
    text = used(place, "bookworm", package, DEBIAN, "apt-get -qq remove -y iotune >/dev/null 2>&1")
    assert left(text) == []


def test_lintian_finds_nothing_but_what_is_known(tmp_path: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("NOT VERIFIED: there is no lintian (tools/setup.sh packaging)")
    built = sorted((ROOT / "build" / "deb" / "packages").glob("iotune_*.deb"))
    if not built:
        subprocess.run([ROOT / "packaging" / "debian" / "build.sh", tmp_path], check=True)
        built = sorted(tmp_path.glob("iotune_*.deb"))
    done = subprocess.run(["lintian", built[-1]], capture_output=True, text=True)
    # CMake's gzip has a time stamp.
    known = ("bogus-mail-host", "no-manual-page", "package-contains-timestamped-gzip")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("E:", "W:"))]
    assert [line for line in lines if not any(word in line for word in known)] == []
