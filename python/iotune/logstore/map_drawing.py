"""The map of a file that is kept as logs, drawn: offset against time and against the writer.

As the Pattern PLFS papers show MILC. Needs matplotlib.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from iotune.errors import Error
from iotune.logstore.container import LogContainer, LogMap
from iotune.output_file import write_text
from iotune.patterns.arrays import numpy_array

# A figure of more writes says no more and cannot be opened.
_MOST_WRITES = 20_000
_MOST_DOTS = 200  # one above the other
_WIDTH_INCHES, _HEIGHT_INCHES = 5.0, 4.0
_MIB = 1 << 20


def draw_map(source: Path, target: Path) -> tuple[int, int]:
    """Write the figure of `source` as SVG to `target`. Returns how many writes there are, and how
    many are drawn. Raises Error.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise Error(f"figures need more ({problem}): pip install 'iotune[models]'") from None
    step = max(1, -(-sum(one.entries for one in LogContainer(source).writers) // _MOST_WRITES))
    log_map = LogMap(source)
    total, writers, offsets, lengths, times = _every(log_map, step)
    if total == 0:
        raise Error(f"{source} has no writes to draw")
    panels = 2 if log_map.has_times else 1
    figure = Figure(figsize=(panels * _WIDTH_INCHES, _HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    places = [(writers, "writer")]
    if log_map.has_times:
        places.insert(0, ((times - times.min()) / 1e9, "seconds since the first write"))
    # What is shorter than a dot would not be drawn at all.
    least = int((offsets + lengths).max() - offsets.min()) // _MOST_DOTS
    for axis, (across, label) in zip(axes, places):
        ends = [
            [(x, start / _MIB), (x, (start + max(length, least)) / _MIB)]
            for x, start, length in zip(across, offsets, lengths)
        ]
        lines = LineCollection(ends, linewidths=1.5, cmap="viridis")
        lines.set_array(writers)
        axis.add_collection(lines)
        axis.autoscale()
        axis.set_xlabel(label)
    axes[0].set_ylabel("offset in the file (MiB)")
    drawn = len(writers)
    share = "" if step == 1 else f", one write in {step:,} drawn"
    figure.suptitle(
        f"{source.name}: {total:,} writes of {len(log_map.writers):,} writers{share}", fontsize=9
    )
    text = io.StringIO()
    # No date and no random names: a figure that did not change is the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": source.name}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    write_text(target, text.getvalue())
    return total, drawn


def _every(log_map: LogMap, step: int) -> tuple[int, Any, Any, Any, Any]:
    """How many writes there are, and four arrays of every `step`-th one."""
    import numpy

    total = 0
    kept: list[list[Any]] = [[], [], [], []]
    for columns in log_map.columns():
        first = -total % step
        total += len(memoryview(columns[0]))
        for all_of, column in zip(kept, columns):
            all_of.append(numpy_array(column)[first::step].copy())
    none = numpy.empty(0, dtype=numpy.int64)
    arrays = [numpy.concatenate(one) if one else none for one in kept]
    return total, arrays[0], arrays[1], arrays[2], arrays[3]
