"""Every command's name, module and line of help, known without importing any of them."""

from __future__ import annotations

PROGRAM_HELP = """Watch an unmodified MPI or HDF5 program, understand its I/O as patterns, and
run it with settings that were measured to be good for them.

Start with:  iotune run -- mpirun -n 4 ./program
"""

# In the order of the help: name, module, line.
COMMANDS = {
    "run": ("iotune.cli.run", "Run a program: record it, and tune what is known."),
    "show": ("iotune.cli.show", "A run's patterns, or its calls."),
    "export": (
        "iotune.cli.export",
        "A run's calls for other programs: parquet, csv, perfetto.",
    ),
    "import": (
        "iotune.cli.import_log",
        "Another tool's log as a trace: Darshan, Recorder, CSV.",
    ),
    "analyze": (
        "iotune.cli.analyze",
        "Patterns of traces and logs: nests, sizes, next accesses.",
    ),
    "report": (
        "iotune.html_report.command",
        "A run as one HTML file: figures, findings, decisions.",
    ),
    "explain": ("iotune.cli.explain", "What was decided, applied, refused and gained."),
    "advise": ("iotune.findings.command", "What of a run is slow by its shape, and what to do."),
    "verify": ("iotune.verify.command", "Which ranks touch the same bytes, and by what calls."),
    "diff": ("iotune.comparing.command", "What changed between two runs, and what is noise."),
    "train": ("iotune.cli.train", "Measure settings for patterns without an answer."),
    "predict": ("iotune.cli.predict", "What settings are worth for a pattern never measured."),
    "prove": ("iotune.cli.prove", "Compare bytes under settings that are not proven here."),
    "replay": ("iotune.cli.replay", "Reissue a recorded pattern without its program."),
    "doctor": ("iotune.doctor.command", "What will work here, what will not, and what to do."),
    "fuse": ("iotune.cli.fuse", "A folder as a file system that records or is slow."),
    "lib": ("iotune.cli.lib", "The path for LD_PRELOAD."),
    "completion": ("iotune.terminal.completion", "What a shell reads to complete words."),
    "replayer": ("iotune.prebuilt.command", "Replayers prebuilt for nodes that compile nothing."),
    "log": ("iotune.logstore.command", "A shared file that is kept as logs: looked at, got back."),
    "latency": ("iotune.cli.latency", "Response times of a storage: sampled, fitted, drawn."),
    "db": ("iotune.cli.db", "The pattern database."),
}


def help_text() -> str:
    """What `iotune --help` prints, as the parser of options would."""
    options = [
        ("--version", "Print the version."),
        ("-h, --help", "Show this message and exit."),
    ]
    paragraphs = [
        "Usage: iotune [OPTIONS] COMMAND [ARGS]...",
        "\n".join(f"  {line}".rstrip() for line in PROGRAM_HELP.rstrip().split("\n")),
        "Options:\n" + _columns(options),
        "Commands:\n" + _columns([(name, line) for name, (_, line) in COMMANDS.items()]),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _columns(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {line}" for name, line in rows)
