"""check_library.py LIBRARY LIMIT EXPORT...: what a library with the C++ library inside exports,
needs and asks of glibc.
"""

import re
import subprocess
import sys

# glibc's own objects, whose names differ between architectures for the loader alone.
OWN_OBJECTS = re.compile(r"^(libc\.so\.6|libm\.so\.6|ld-linux-[a-z0-9_-]+\.so\.\d)$")


def output(*command):
    """Return the standard output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def version(text):
    """Return "2.28" as (2, 28)."""
    return tuple(int(part) for part in text.split("."))


def faults(library, limit, exports):
    """Yield one line for each broken promise."""
    dynamic = output("readelf", "--wide", "--dynamic", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    for name in needed:
        if not OWN_OBJECTS.match(name):
            yield f"needs {name}"
    if "TEXTREL" in dynamic:
        yield "has text relocations"

    highest = (0, 0)
    exported = set()
    for line in output("readelf", "--wide", "--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        bind, section, name = fields[4], fields[6], fields[7]
        found = re.search(r"@GLIBC_([0-9.]+)", name)
        if found:
            highest = max(highest, version(found.group(1)))
            if version(found.group(1)) > limit:
                yield f"wants {name}"
        elif section == "UND" and "@" in name:
            yield f"wants {name}"
        if section != "UND" and bind in ("GLOBAL", "WEAK", "UNIQUE"):
            exported.add(name.split("@")[0])
    if exported != exports:
        yield f"exports {sorted(exported)}"
    print(f"needed: {', '.join(needed)}; highest glibc symbol: {'.'.join(map(str, highest))}")


def main():
    """Print the faults; exit status 1 where there are any."""
    found = list(faults(sys.argv[1], version(sys.argv[2]), set(sys.argv[3:])))
    for fault in found:
        print("FAULT:", fault)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
