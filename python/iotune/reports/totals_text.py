"""What a log counted of a file, in lines for people: `iotune show` and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iotune.reports.tables import count_text, plural, seconds_text, share_text, size_text

_LAYERS = {"posix": "POSIX", "stdio": "stdio", "mpiio": "MPI-IO", "hdf5": "HDF5"}
_LAYERS["pnetcdf"] = "PnetCDF"
# Upper ends of the classes of lengths that Darshan counts (importing/darshan_totals.py).
_ENDS = ("100 B", "1 KB", "10 KB", "100 KB", "1 MB", "4 MB", "10 MB", "100 MB", "1 GB", "")
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BINS = 64


def layer_name(layer: str) -> str:
    """As people write it."""
    return _LAYERS.get(layer, layer)


def totals_lines(totals: Mapping[str, Any], ranks: int) -> Iterator[tuple[str, str]]:
    """What it is about, and what is said of it. `ranks`: of the run."""
    for use in totals.get("layers", []):
        name = layer_name(use["layer"])
        yield name, _calls(use)
        for verb in ("read", "write"):
            text = _transfers(use, verb)
            if text:
                yield "", text
        more = [*_alignment(use), *_switches(use)]
        if more:
            yield "", "; ".join(more)
        text = _times(use, ranks)
        if text:
            yield "", text
    stripes = totals.get("stripes")
    if stripes:
        targets = stripes["targets"]
        count = count_text(stripes["stripe_count"], "stripe")
        text = f"{count} of {size_text(stripes['stripe_bytes'])}"
        if targets:
            shown = ", ".join(str(one) for one in targets[:8])
            text += f" on targets {shown}" + (", …" if len(targets) > 8 else "")
        yield "Lustre", text
    elif totals.get("file_system"):
        yield "on", str(totals["file_system"])
    for dataset in totals.get("datasets", []):
        yield "dataset", _dataset(dataset)


def heat_lines(heat: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Bytes by the time of the run, of each direction."""
    for key in ("read", "written"):
        bins = heat[key]
        if not any(bins):
            continue
        wide = -(-len(bins) // _MOST_BINS)
        sums = [sum(bins[at : at + wide]) for at in range(0, len(bins), wide)]
        most = max(sums)
        bars = "".join(_BARS[round(one / most * (len(_BARS) - 1))] if one else " " for one in sums)
        width = heat["width_seconds"] * wide
        text = f"{bars}  each {seconds_text(width)}, {size_text(most)} at most"
        yield f"{key} over time", text


def _calls(use: Mapping[str, Any]) -> str:
    calls = use.get("calls", {})
    parts = [f"{number:,} {_plural(name, number)}" for name, number in calls.items() if number]
    return ", ".join(parts) or "no calls"


def _plural(name: str, number: int) -> str:
    if number == 1:
        return name
    if name.endswith("ry"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("sh") else plural(name)


def _transfers(use: Mapping[str, Any], verb: str) -> str:
    past = "read" if verb == "read" else "written"
    size = use.get(f"bytes_{past}", 0)
    sizes = use.get(f"{verb}_sizes", [])
    calls = sum(sizes) or use.get("calls", {}).get(verb, 0)
    if not size and not calls:
        return ""
    parts = [f"{size_text(size)} {past}"]
    if sum(sizes):
        parts[0] += ": " + _classes(sizes)
    for key, word in (("consecutive", "consecutive"), ("sequential", "sequential")):
        number = use.get(f"{key}_{verb}s", 0)
        if use["layer"] == "posix" and calls:
            parts.append(f"{share_text(min(1.0, number / calls))} {word}")
    return ", ".join(parts)


def _classes(sizes: Sequence[int]) -> str:
    """The largest classes of lengths, three at most."""
    total = sum(sizes)
    largest = sorted(range(len(sizes)), key=lambda place: -sizes[place])[:3]
    parts = []
    for place in largest:
        if not sizes[place]:
            continue
        begin = _ENDS[place - 1] if place else "0"
        span = f"{begin} to {_ENDS[place]}" if _ENDS[place] else f"over {begin}"
        parts.append(f"{share_text(sizes[place] / total)} of {span}")
    return ", ".join(parts)


def _alignment(use: Mapping[str, Any]) -> Iterator[str]:
    common = use.get("common_sizes", [])
    if common:
        listed = ", ".join(f"{size:,} B ({count:,}×)" for size, count in common)
        yield f"most common lengths {listed}"
    strides = use.get("common_strides", [])
    if strides:
        yield "strides " + ", ".join(f"{size:,} B ({count:,}×)" for size, count in strides)
    if use.get("misaligned"):
        block = size_text(use.get("alignment_bytes", 0))
        yield f"{use['misaligned']:,} begin within a block of {block}"


def _switches(use: Mapping[str, Any]) -> Iterator[str]:
    if use.get("switches"):
        yield f"{use['switches']:,} changes between reading and writing"


def _times(use: Mapping[str, Any], ranks: int) -> str:
    parts = [
        f"{seconds_text(use[key])} {what}"
        for key, what in (
            ("read_seconds", "reading"),
            ("write_seconds", "writing"),
            ("meta_seconds", "in metadata"),
        )
        if use.get(key)
    ]
    if not parts:
        return ""
    number = use.get("ranks", 1)
    text = ", ".join(parts)
    if number < 2:
        slowest = use.get("slowest")
        return text + (f" of rank {slowest['rank']}" if slowest and ranks > 1 else "")
    text += f", the sum of {number:,} ranks"
    fastest, slowest = use.get("fastest"), use.get("slowest")
    if fastest and slowest:
        text += (
            f"; slowest rank {slowest['rank']}: {seconds_text(slowest['seconds'])} "
            f"({size_text(slowest['bytes'])}), fastest rank {fastest['rank']}: "
            f"{seconds_text(fastest['seconds'])} ({size_text(fastest['bytes'])})"
        )
    return text


def _dataset(one: Mapping[str, Any]) -> str:
    parts = [str(one["name"])]
    if one.get("dimensions"):
        text = f"{one['dimensions']}-dimensional, {one.get('elements', 0):,} elements"
        if one.get("element_bytes"):
            text += f" of {one['element_bytes']} B"
        parts.append(text)
    if one.get("chunk"):
        parts.append("chunks of " + "×".join(str(size) for size in one["chunk"]))
    calls = _calls(one)
    if calls != "no calls":
        parts.append(calls)
    parts += [
        f"{size_text(one[key])} {verb}"
        for key, verb in (("bytes_written", "written"), ("bytes_read", "read"))
        if one.get(key)
    ]
    if one.get("collective"):
        parts.append("collective")
    return ", ".join(parts)
