"""Response times of a storage: sample them, fit their distribution, look at it.

  iotune latency sample /scratch/me -o times.parquet --rounds 30
  iotune latency fit times.parquet
  iotune latency report times.parquet -o times-report
  iotune latency export times.parquet times.csv

A storage that many share answers most requests soon and some very late. How late and how often
decides how many servers a request should wait for, and how often a setting must be measured.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from iotune.cli.output import (
    Column,
    count_text,
    errors_in_one_line,
    next_command,
    path_text,
    print_json,
    say,
    seconds_text,
    size_text,
    table,
)
from iotune.errors import Error
from iotune.quantities import duration_seconds, size_bytes
from iotune.replay.mpi import find_mpi

if TYPE_CHECKING:
    from iotune.models.latency.fitting import LatencyFit

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_DEFAULT_TABLE = Path("response-times.parquet")
_OPERATIONS = ("read", "write")
_CACHES = ("cold", "warm", "both")
_INTERFACES = ("mpiio", "posix", "both")


def _demand_extra() -> None:
    """Raise Error where the libraries of the extra are missing."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import scipy  # noqa: F401
    except ImportError as problem:
        raise Error(f"response times need more ({problem}): pip install 'iotune[models]'") from None


def _one_of(value: Optional[str], words: tuple[str, ...], option: str) -> Optional[str]:
    if value is not None and value not in words:
        raise typer.BadParameter(f"'{value}' is none of {', '.join(words)}", param_hint=option)
    return value


@app.command("sample")
@errors_in_one_line
def sample(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory on the storage to sample.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The table to write: .parquet or .csv."
        ),
    ] = _DEFAULT_TABLE,
    ranks: Annotated[
        int, typer.Option("--ranks", "-n", min=1, help="Number of ranks; each has its own files.")
    ] = 2,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", min=1, help="How often each size is sampled; 1 suits a batch job."
        ),
    ] = 1,
    lasting: Annotated[
        Optional[str], typer.Option("--for", metavar="TIME", help="Sample for this time: 30m.")
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            "--share", metavar="PERCENT", help="Spend at most this share of the time in transfers."
        ),
    ] = 10.0,
    size: Annotated[
        Optional[list[str]],
        typer.Option(metavar="SIZE", help="Only this size: 64MiB; may be repeated."),
    ] = None,
    cache: Annotated[str, typer.Option(help="cold, warm or both.")] = "both",
    interface: Annotated[str, typer.Option(help="mpiio, posix or both.")] = "mpiio",
    evict: Annotated[
        Optional[str],
        typer.Option(
            metavar="SIZE",
            help="Write and read so much before cold reads, to empty servers' caches.",
        ),
    ] = None,
) -> None:
    """Add samples to a table: twelve sizes from 512 KiB to 1 GiB, as far as the space goes."""
    _demand_extra()
    from iotune.models.latency.sampler import MIB, SIZES, SamplePlan, sizes_that_fit, take_samples

    _one_of(cache, _CACHES, "--cache")
    _one_of(interface, _INTERFACES, "--interface")
    if not 0 < share <= 100:
        raise typer.BadParameter(f"{share:g} is not above 0 and at most 100", param_hint="--share")
    if not directory.is_dir():
        raise Error(f"{directory} is no directory; name one on the storage to be sampled")
    wanted = [size_bytes(one) for one in size] if size else list(SIZES)
    sizes = sizes_that_fit(wanted, ranks, directory)
    if len(sizes) < len(set(wanted)):
        say(f"sizes above {size_text(sizes[-1])} are left out: there is no room for their files")
    plan = SamplePlan(
        directory.absolute(), output, ranks, sizes,
        0 if lasting else rounds, duration_seconds(lasting) if lasting else 0.0,
        share / 100, cache, interface, -(-size_bytes(evict) // MIB) if evict else 0,
    )  # fmt: skip
    samples = take_samples(plan, find_mpi(), _progress)
    _progress(0)
    say(f"{path_text(output)} has {count_text(len(samples), 'sample')}")
    next_command("iotune", "latency", "fit", str(output))


def _progress(samples: int) -> None:
    """One line that the next one replaces, on a terminal; elsewhere nothing."""
    if sys.stderr.isatty():
        text = f"\r\x1b[Kiotune: {count_text(samples, 'sample')}" if samples else "\r\x1b[K"
        print(text, end="", file=sys.stderr, flush=True)


_TABLE = Annotated[Path, typer.Argument(metavar="FILE", help="A table of samples.")]


@app.command("fit")
@errors_in_one_line
def fit(
    file: _TABLE = _DEFAULT_TABLE,
    operation: Annotated[Optional[str], typer.Option(help="Only this one: read or write.")] = None,
    cache: Annotated[Optional[str], typer.Option(help="Only this one: cold or warm.")] = None,
    interface: Annotated[Optional[str], typer.Option(help="Only this one: mpiio or posix.")] = None,
    size: Annotated[
        Optional[list[str]], typer.Option(metavar="SIZE", help="Only this size; may be repeated.")
    ] = None,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Store the fit, so that `iotune train` uses it on this storage."
        ),
    ] = False,
    on: Annotated[
        Optional[Path],
        typer.Option(
            "--on", metavar="DIR", help="With --keep: the storage. Default: as the samples say."
        ),
    ] = None,
    db: Annotated[
        Optional[Path],
        typer.Option(
            "--db", metavar="FILE", help="With --keep: store the fit beside this database."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit distributions: single ones, head and tail at the best pivot, and the longest times."""
    _demand_extra()
    from iotune.models.latency.report import fits_of
    from iotune.models.latency.samples import read_samples, selected

    _one_of(operation, _OPERATIONS, "--operation")
    _one_of(cache, _CACHES[:2], "--cache")
    _one_of(interface, _INTERFACES[:2], "--interface")
    samples = selected(
        read_samples(file), operation, cache, interface, [size_bytes(one) for one in size or ()]
    )
    fits, without = fits_of(samples)
    if keep and fits:
        _keep(samples, fits, on, db)
    if as_json:
        print_json("latency-fit", 
            [
                {"operation": kind.operation, "cache": kind.cache, "interface": kind.interface,
                 "bytes": kind.bytes, **_as_json(one)}
                for kind, one in fits.items()
            ]
            + [
                {"operation": kind.operation, "cache": kind.cache, "interface": kind.interface,
                 "bytes": kind.bytes, "error": why}
                for kind, why in without.items()
            ]
        )  # fmt: skip
        return
    if not fits:
        raise Error(next(iter(without.values())))
    table(
        [
            Column("requests"), Column("samples", number=True), Column("median", number=True),
            Column("pivot", number=True), Column("tail", number=True), Column("head is"),
            Column("tail is"), Column("distance", number=True, spare=2),
            Column("best single family", spare=1), Column("verdict"),
        ],
        [_row(kind.text(), one) for kind, one in fits.items()],
    )  # fmt: skip
    for kind, one in fits.items():
        say(f"{kind.text()}: {one.verdict}: {one.reason}")
        say(f"{kind.text()}: {one.times.text()}")
    for kind, why in without.items():
        say(f"{kind.text()}: {why}")
    next_command("iotune", "latency", "report", str(file))


def _keep(samples: Any, fits: Any, on: Optional[Path], db: Optional[Path]) -> None:
    """Store the fit for trainings. Raises Error where the storage is not known."""
    from iotune import core
    from iotune.models.latency import kept
    from iotune.models.latency.report import dependence_of
    from iotune.models.latency.samples import kinds_in

    sampled = sorted(set(samples["directory"]) - {""})
    if on is None and len(sampled) != 1:
        found = ", ".join(sampled) or "none"
        raise Error(f"the samples are of no one directory ({found}): --on DIR names the storage")
    directory = on if on is not None else Path(sampled[0])
    if not directory.is_dir():
        raise Error(f"{directory} is no directory here: --on DIR names the sampled storage")
    path = kept.keep(
        fits, {kind: dependence_of(group) for kind, group in kinds_in(samples)},
        db if db is not None else core.default_database(), core.filesystem_of(directory),
        str(directory.absolute()),
    )  # fmt: skip
    say(f"{path_text(path)}: trainings on {core.filesystem_of(directory)} use it")


def _tied(ranked: Any) -> str:
    names = [ranked[0].name, *(one.name for one in ranked[1:] if one.is_tied)]
    return " or ".join(names)


def _row(kind: str, one: "LatencyFit") -> list[str]:
    mixture = one.mixture
    if mixture is None:
        return [kind, str(one.samples), seconds_text(one.mean_seconds), "", "", "", "", "",
                one.single[0].name, one.verdict]  # fmt: skip
    median = float(mixture.quantile([0.5])[0])  # type: ignore[arg-type]
    return [
        kind, str(one.samples), seconds_text(median), seconds_text(mixture.pivot_seconds),
        f"{100 * mixture.tail_share:.1f} %", _tied(one.head), _tied(one.tail),
        f"{one.distance:.3f}", one.single[0].name, one.verdict,
    ]  # fmt: skip


def _as_json(one: "LatencyFit") -> dict[str, Any]:
    from iotune.models.latency.fitting import mixture_to_dict
    from iotune.models.latency.response_times import response_times_to_dict

    def ranked(group: Any) -> list[dict[str, Any]]:
        return [
            {
                "family": each.name,
                "parameters": dict(zip(each.fitted.family.parameters, each.fitted.parameters)),
                "log_likelihood": each.log_likelihood,
                "distance": each.distance,
                "against_best": each.against_best,
                "tied": each.is_tied,
            }
            for each in group
        ]

    return {
        "samples": one.samples,
        "mean_seconds": one.mean_seconds,
        "deviation_seconds": one.deviation_seconds,
        "skewness": one.skewness,
        "kurtosis": one.kurtosis,
        "single": ranked(one.single),
        "head": ranked(one.head),
        "tail": ranked(one.tail),
        "mixture": mixture_to_dict(one.mixture) if one.mixture else None,
        "distance": one.distance if one.mixture else None,
        "heavy_tail": one.heavy_tail,
        "reason": one.reason,
        "times": response_times_to_dict(one.times),
    }


@app.command("report")
@errors_in_one_line
def report(
    file: _TABLE = _DEFAULT_TABLE,
    output: Annotated[
        Optional[Path],
        typer.Option(
            "-o", "--output", metavar="DIR", help="The directory for the page and the figures."
        ),
    ] = None,
    size: Annotated[
        Optional[str], typer.Option(metavar="SIZE", help="Draw only samples of this size.")
    ] = None,
) -> None:
    """Draw the paper's figures from our samples: SVG files, and one page with all of them."""
    _demand_extra()
    from iotune.models.latency.report import write_report
    from iotune.models.latency.samples import read_samples

    samples = read_samples(file)
    directory = output or Path(f"{file.stem}-report")
    page = write_report(samples, directory, size_bytes(size) if size else None)
    say(f"{path_text(page)}")


@app.command("export")
@errors_in_one_line
def export(
    file: _TABLE,
    to: Annotated[
        Path,
        typer.Argument(metavar="TO", help="The file to write; its name ends in .csv or .parquet."),
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace TO.")] = False,
) -> None:
    """Write a table of samples in the other format; a table in CSV becomes Parquet so."""
    _demand_extra()
    from iotune.models.latency.samples import read_samples, write_samples

    if to.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter(f"'{to}' ends in neither .csv nor .parquet", param_hint="TO")
    samples = read_samples(file)
    write_samples(samples, to, force)
    say(f"{path_text(to)} has {count_text(len(samples), 'sample')}")
    next_command("iotune", "latency", "fit", str(to))
