"""Cells as an image that fits both themes: an indexed PNG whose colours grow more opaque."""

from __future__ import annotations

import base64
import math
import struct
import zlib

import numpy as np

LEVELS = 48  # shades beside "nothing"
DECADES = 4.0  # of values that are distinguished; what is less has the lightest shade

# Of each theme, for writes and for reads: from little to much.
_RAMPS = {
    ("light", 1): ((198, 219, 239), (8, 48, 107)),
    ("light", 0): ((253, 208, 162), (127, 39, 4)),
    ("dark", 1): ((24, 58, 99), (190, 225, 255)),
    ("dark", 0): ((84, 45, 18), (255, 214, 160)),
}
THEMES = ("light", "dark")


def levels_of(cells: np.ndarray) -> tuple[np.ndarray, float]:
    """Each cell's shade, 0 for nothing, on a logarithmic scale; and the value of the darkest."""
    most = float(cells.max()) if cells.size else 0.0
    levels = np.zeros(cells.shape, np.uint8)
    some = cells > 0
    if most > 0:
        share = 1 + np.log10(cells[some] / most) / DECADES
        levels[some] = 1 + np.round(np.clip(share, 0, 1) * (LEVELS - 1)).astype(np.uint8)
    return levels, most


def image(cells: np.ndarray, direction: int, place: str) -> str:
    """SVG images, one a theme, of cells [line, column], the first line at the top.

    `place`: x, y, width and height as attributes.
    """
    levels, _ = levels_of(cells)
    parts = []
    for theme in THEMES:
        data = base64.b64encode(_png(levels, theme, direction)).decode("ascii")
        parts.append(
            f'<image class="cells only-{theme}" {place} preserveAspectRatio="none" '
            f'href="data:image/png;base64,{data}"/>'
        )
    return "".join(parts)


def ramp_css() -> str:
    """The ramps as CSS variables, for legends."""
    lines = []
    for theme in THEMES:
        for direction, word in ((0, "read"), (1, "write")):
            low, high = _RAMPS[theme, direction]
            lines.append(
                f"--ramp-{word}-{theme}:linear-gradient(90deg,rgb{_css(low)},rgb{_css(high)});"
            )
    return "".join(lines)


def _css(colour: tuple[int, int, int]) -> str:
    return f"({colour[0]},{colour[1]},{colour[2]})"


def _png(levels: np.ndarray, theme: str, direction: int) -> bytes:
    low, high = _RAMPS[theme, direction]
    palette, alpha = bytearray(b"\0\0\0"), bytearray(b"\0")
    for level in range(LEVELS):
        part = level / (LEVELS - 1)
        palette += bytes(round(a + (b - a) * part) for a, b in zip(low, high))
        alpha.append(min(255, 150 + math.ceil(105 * part)))
    height, width = levels.shape
    lines = np.zeros((height, width + 1), np.uint8)  # a filter byte before each line
    lines[:, 1:] = levels
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, content)
        for kind, content in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", bytes(palette)),
            (b"tRNS", bytes(alpha)),
            (b"IDAT", zlib.compress(lines.tobytes(), 9)),
            (b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
