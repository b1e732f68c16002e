"""check_decision_api.py CLIENT LIBRARY: the C interface, as the preload uses it."""

import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    """Ask through the library under several environments."""
    client, library = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="iotune decision ") as name:
        folder = pathlib.Path(name)
        base = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C"}

        def ask(*more, **environment):
            done = subprocess.run(
                [client, library, "/opt/vpic-io", "/data/vpic7.h5", "ext4", *more],
                env={**base, **environment},
                capture_output=True,
                text=True,
            )
            assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
            print(done.stderr.strip())
            return done.returncode, done.stdout

        # Before the first database there is nothing to say; one that was named should be there.
        assert ask() == (0, "")
        status, text = ask(IOTUNE_DB=str(folder / "named.db"))
        assert status == 1 and "no pattern database there" in text, text
        assert not any(folder.iterdir()), "a refused decision left files"

        config = folder / "config.xml"
        config.write_text(
            "<Parameters><Middleware_Layer><cb_nodes>3</cb_nodes></Middleware_Layer></Parameters>"
        )
        status, text = ask(IOTUNE_CONFIG=str(config))
        assert status == 0, text
        lines = text.splitlines()
        assert lines[1] == "source config" and "set cb_nodes 3" in lines, text

        config.write_text("<Parameters>\n<Nonsense/></Parameters>")
        status, text = ask(IOTUNE_CONFIG=str(config))
        assert status == 1 and text.startswith(f"{config}:2: "), text
        assert text.count("\n") == 1, text

        broken = folder / "broken.db"
        broken.write_bytes(b"x" * 4096)
        status, text = ask(IOTUNE_DB=str(broken))
        assert status == 1 and "damaged" in text, text

        # That there is none is remembered for as long as there is none.
        late = folder / "late.db"
        status, text = ask("renamed", str(broken), str(late), IOTUNE_DB=str(late))
        before, _, then = text.partition("then ")
        assert status == 1 and "no pattern database there" in before, text
        assert "damaged" in then, text

        status, text = ask("observe", str(folder / "none.iotrace"))
        assert "observe -1 " in text, text


if __name__ == "__main__":
    main()
