"""The same under each MPI of three ABIs: recorded in full, merged at the end, tuned."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from support import preloaded
from support.mpi_runs import CONFIG, HINTS, check_merged, joined_later, recorded, tuned, words_of
from support.mpis import NAMES, Mpi, compiled, find_mpi, hdf5_flags, use
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.repository import CALLS_TABLE, ROOT
from support.settings import outcomes

# What OMPIO of Open MPI 4 does rightly: with several aggregators it writes wrong bytes.
ONE_AGGREGATOR = CONFIG.replace("<cb_nodes>2", "<cb_nodes>1")


def alone(place: Place, program: Path) -> None:
    """One rank without iotune: nothing is tuned, and the next command joins."""
    place.clear()
    config = place.scratch / "config.xml"
    loaded = ["-n", "1", "env", preloaded.setting(place.library), program, "a.bin"]
    done = place.right(place.run(place.mpirun, *loaded, ":", "-n", "1", program, "a.bin",
                                 preload=False, IOTUNE_CONFIG=config, IOTUNE_DB="none",
                                 IOTUNE_TRACE=place.trace))  # fmt: skip
    assert done.status == 0
    assert not place.trace.exists()
    calls = [call for path in place.leftovers() for call in place.calls(path)]
    assert any(call["name"] == "MPI_File_write_all" for call in calls), calls
    assert outcomes(calls) == {}, calls


def behind_a_script(place: Place, mpi: Mpi, program: Path) -> None:
    """Ranks that a script of each rank starts are ranks of one run: recorded and tuned alike."""
    place.clear()
    script = place.scratch / "rank.sh"
    script.write_text(f'{preloaded.setting(place.library)} "$1" a.bin\nexit $?\n')
    place.right(place.mpi(2, "sh", script, program, preload=False,
                          IOTUNE_CONFIG=place.scratch / "config.xml", IOTUNE_DB="none",
                          IOTUNE_TRACE=place.trace))  # fmt: skip
    assert outcomes(check_merged(place, mpi, 2)), "nothing was set"


def spine(place: Place, name: str) -> None:
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "mpi_file.c")
    bare = place.right(place.mpi(2, program, "a.bin", preload=False))
    expected = (place.scratch / "a.bin").read_bytes()
    recorded(place, mpi, program, bare)
    tuned(place, mpi, program, bare)
    assert (place.scratch / "a.bin").read_bytes() == expected
    alone(place, program)
    behind_a_script(place, mpi, program)


def weak(place: Place, name: str) -> None:
    """Weak references to calls that this MPI may lack: the program makes the same ones as bare."""
    mpi = find_mpi(name)
    if mpi is None:
        return
    use(place, mpi)
    program = compiled(place, mpi, "weak_calls.c")
    bare = place.right(place.mpi(2, program, "a.bin", preload=False))
    expected = (place.scratch / "a.bin").read_bytes()
    (place.scratch / "a.bin").unlink()
    done = place.right(place.mpi(2, program, "a.bin", IOTUNE_DB="none"))
    assert (sorted(done.out.split()), done.err) == (sorted(bare.out.split()), bare.err), done
    assert (place.scratch / "a.bin").read_bytes() == expected
    names = {call["name"] for call in place.calls()}
    made = {line.split()[1].decode() for line in bare.out.splitlines() if line[:4] == b"made"}
    assert len(made) == 3 and made <= names, (made, names)
    # What is loaded later finds iotune's function in any case, which works under every MPI.
    place.clear()
    plugin = compiled(place, mpi, "weak_calls.c", "-shared", "-fPIC", "-Dmain=plugin_main")
    place.right(place.mpi(2, place.bin / "caliper_host", "a.bin", plugin, IOTUNE_DB="none"))
    assert (place.scratch / "a.bin").read_bytes() == expected
    names = {call["name"] for call in place.calls()}
    assert {"MPI_File_write_at_c", "MPI_File_iwrite_at_c", "MPI_File_read_at_all_c"} <= names, names


def headers(place: Place, name: str) -> None:
    """The table of calls against this MPI's own mpi.h: a disagreement does not compile."""
    mpi = find_mpi(name)
    if mpi is None:
        return
    source = place.scratch / "check_mpi.cpp"
    generator = ROOT / "recorder" / "generate" / "generate_header_check.py"
    table = CALLS_TABLE
    subprocess.run([sys.executable, "-B", generator, table, "mpi", source], check=True)
    done = subprocess.run(
        [mpi.compiler, "-x", "c++", "-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX",
         "-fsyntax-only", "-Wno-deprecated-declarations", str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def configured(place: Place, name: str, source: str) -> tuple[Mpi, Path, Path] | None:
    """The MPI, the program made with it, and settings; None where it is not here."""
    mpi = find_mpi(name)
    if mpi is None:
        return None
    use(place, mpi)
    config = place.scratch / "config.xml"
    config.write_text(ONE_AGGREGATOR if name.startswith("openmpi") else CONFIG)
    return mpi, compiled(place, mpi, source), config


def sessions(place: Place, name: str) -> None:
    """Without a world: recorded, never tuned, joined later. With one as well: as ever."""
    found = configured(place, name, "mpi_sessions.c")
    if found is None:
        return
    mpi, program, config = found
    bare = place.right(place.mpi(2, program, "a.bin", preload=False))
    env = {"IOTUNE_CONFIG": config, "IOTUNE_DB": "none", "IOTUNE_TRACE": None}
    under = place.right(place.mpi(2, program, "a.bin", **env))
    assert under.same_as(bare), (bare, under)
    assert place.traces() == [], place.traces()
    ranks = []
    for path in place.leftovers():
        (head,) = [head["attributes"] for head in place.heads(path)]
        ranks.append(int(head["rank"]))
        expected = "PMI_RANK" if mpi.romio else "OMPI_COMM_WORLD_RANK"
        assert head["rank_from"] == expected and head["size"] == "2", head
        assert head["mpi"].startswith(mpi.version), head
        calls = place.calls(path)
        names = {call["name"] for call in calls}
        assert {"MPI_Session_init", "MPI_Session_finalize"} <= names or mpi.romio, names
        assert "pwrite" in names or "MPI_File_write_at_all" in names, names
        assert outcomes(calls) == {}
    assert sorted(ranks) == [0, 1], ranks
    joined_later(place)

    place.clear()
    done = place.right(place.mpi(2, program, "a.bin", "world", IOTUNE_CONFIG=config,
                                 IOTUNE_DB="none"))  # fmt: skip
    assert done.said() == []
    calls = check_merged(place, mpi, 2)
    tuned_files = {call["texts"][0].rpartition("/")[2] for call in calls
                   if call["name"] == "iotune_setting"}  # fmt: skip
    assert "a.bin.world" in tuned_files, tuned_files


def spawned(place: Place, name: str) -> None:
    """Files of two worlds' ranks are left alone, and nobody waits; those of one are tuned."""
    found = configured(place, name, "mpi_spawn.c")
    if found is None:
        return
    _, program, config = found
    bare = place.mpi(2, program, "a", preload=False, shim=False)
    if bare.status != 0:
        not_verified(f"ranks that start others under {name}: status {bare.status}")
        return
    contents = {file: (place.scratch / file).read_bytes() for file in ("a", "a.parents")}
    assert [len(content) for content in contents.values()] == [12, 8], contents
    under = place.right(place.mpi(2, program, "a", IOTUNE_CONFIG=config, IOTUNE_DB="none"))
    assert {file: (place.scratch / file).read_bytes() for file in contents} == contents
    assert words_of(under, "both") == words_of(bare, "both")
    calls = place.calls()
    opened = {call["texts"][0] for call in calls if call["name"] == "MPI_File_open"}
    assert opened == {"a", "a.parents"}, opened
    set_for = {Path(call["texts"][0]).name for call in calls if call["name"] == "iotune_setting"}
    assert set_for == {"a.parents"}, set_for


def parameters(place: Place, name: str) -> None:
    """A hint would win over the MCA parameters of OMPIO: they are the user's, wherever set."""
    found = configured(place, name, "mpi_file.c")
    if found is None:
        return
    mpi, program, config = found
    home = place.scratch / "of the user"
    (home / ".openmpi").mkdir(parents=True)

    def refused(in_file: str, **env: object) -> set[str]:
        place.clear()
        (home / ".openmpi" / "mca-params.conf").write_text(in_file)
        done = place.right(place.mpi(2, program, "a.bin", IOTUNE_CONFIG=config, IOTUNE_DB="none",
                                     HOME=home, **env))  # fmt: skip
        assert done.said() == [], done.said()
        said = outcomes(check_merged(place, mpi, 2))
        assert set(said) >= set(HINTS), said
        reported = {hint for hint in HINTS if said[hint][0] == "refused"}
        assert all("MCA" in said[hint][2] for hint in reported), said
        return reported

    assert refused("# nothing\n") == set()
    assert refused("io_ompio_num_aggregators = 1\n") == {"cb_nodes"}
    assert refused("io_ompio_bytes_per_agg = 1000000\n") == {"cb_buffer_size"}
    assert refused("", OMPI_MCA_io_ompio_bytes_per_agg=1000000) == {"cb_buffer_size"}
    assert refused("io_ompio_bytes_per_agg = 1000000\n", OMPI_MCA_io_ompio_num_aggregators=1) == {
        "cb_nodes", "cb_buffer_size"
    }  # fmt: skip


def hdf5(place: Place) -> None:
    """Parallel HDF5 over Open MPI: the alignment reaches the file's own access list."""
    mpi = find_mpi("openmpi-4")
    flags = hdf5_flags("hdf5-openmpi")
    if mpi is None or flags is None:
        not_verified("parallel HDF5 over Open MPI (libhdf5-openmpi-dev) is not installed")
        return
    use(place, mpi)
    program = compiled(place, mpi, "ask_settings.c", *flags)
    bare = place.right(place.mpi(2, program, "a.h5", preload=False))
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)

    def values(done: Done) -> dict[str, str]:
        return {line.split()[-2]: line.split()[-1] for line in done.out.decode().splitlines()}

    under = place.right(place.mpi(2, program, "a.h5", IOTUNE_MODE="record", IOTUNE_CONFIG=config))
    assert values(under) == values(bare)
    check_merged(place, mpi, 2)
    place.clear()
    done = place.right(place.mpi(2, program, "a.h5", IOTUNE_CONFIG=config, IOTUNE_DB="none"))
    calls = check_merged(place, mpi, 2)
    said, now = outcomes(calls), values(done)
    assert now["alignment"] == "65536,4096" != values(bare)["alignment"], now
    assert said["alignment"] == ("applied", "65536,4096", ""), said
    assert now["meta_block_size"] == "131072" and said["meta_block_size"][0] == "applied", said
    assert said["cb_nodes"][0] == "refused" and "known bad" in said["cb_nodes"][2], said
    assert said["cb_buffer_size"][0] == "unverifiable", said
    assert said["romio_cb_write"][::2] == ("without effect", "Open MPI's OMPIO ignores it"), said
    assert done.said() == []
    # A hint would win over its user's MCA parameter.
    place.clear()
    config.write_text(ONE_AGGREGATOR)
    done = place.right(place.mpi(2, program, "a.h5", IOTUNE_CONFIG=config, IOTUNE_DB="none",
                                 OMPI_MCA_io_ompio_num_aggregators=1))  # fmt: skip
    said = outcomes(check_merged(place, mpi, 2))
    assert said["cb_nodes"][0] == "refused" and "MCA" in said["cb_nodes"][2], said
    assert said["alignment"][0] == "applied", said
    # Its ROMIO reads all of them, and tells of none.
    place.clear()
    config.write_text(CONFIG)
    done = place.right(place.mpi(2, program, "a.h5", IOTUNE_CONFIG=config, IOTUNE_DB="none",
                                 OMPI_MCA_io="romio321"))  # fmt: skip
    said = outcomes(check_merged(place, mpi, 2))
    for hint in HINTS:
        assert said[hint][0] == "unverifiable" and "ROMIO" in said[hint][2], said
    assert said["alignment"][0] == "applied", said
    # It mixes up ordered writes then, and cannot be made to leave the hint again.
    place.clear()
    config.write_text(CONFIG.replace("enable", "disable"))
    done = place.right(place.mpi(2, program, "a.h5", IOTUNE_CONFIG=config, IOTUNE_DB="none",
                                 OMPI_MCA_io="romio321"))  # fmt: skip
    said = outcomes(check_merged(place, mpi, 2))
    assert said["romio_cb_write"][0] == "refused" and "order" in said["romio_cb_write"][2], said


if __name__ == "__main__":
    cases = {name: partial(spine, name=name) for name in NAMES}
    cases |= {f"weak-{name}": partial(weak, name=name) for name in NAMES}
    cases |= {f"headers-{name}": partial(headers, name=name) for name in NAMES}
    cases |= {f"sessions-{name}": partial(sessions, name=name) for name in NAMES
              if name != "openmpi-4"}  # fmt: skip
    cases |= {f"spawned-{name}": partial(spawned, name=name) for name in ("mpich-5", "openmpi-5")}
    main({**cases, "hdf5-openmpi": hdf5,
          "parameters-openmpi-4": partial(parameters, name="openmpi-4"),
          "parameters-openmpi-5": partial(parameters, name="openmpi-5")})  # fmt: skip
