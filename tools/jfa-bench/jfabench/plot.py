# ===- plot.py - Ours beside the peers, drawn -------- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Draws a run of jfa-bench, from the lines of JSON that it wrote: for each shape a
group of bars, TFLOP/s of ours and of each peer. Writes SVG by itself: it is a few
rectangles and words."""

import json
from html import escape

COLOURS = {"jfa": "#1b6ac9", "cudnn": "#6b8e23", "fa2": "#d98b1f",
           "cudnn padded": "#9a9a9a", "flex": "#b05fb0"}
OTHER = "#555555"
LABEL, PLOT, BAR, GAP, TOP = 390, 420, 13, 10, 64


class PlotError(ValueError):
    pass


def read_run(text, source):
    """The rows of a run by shape, in their order. If a shape was run again, the last
    run counts."""
    shapes = {}
    for number, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            shape, peer = row["shape"], row["peer"]
        except (ValueError, KeyError, TypeError) as error:
            raise PlotError(f"{source}:{number + 1}: expected a line of JSON with "
                            f"'shape' and 'peer', but got: {line[:60]}") from error
        shapes.setdefault(shape, {})[peer] = row
    if not any("tflops" in row for peers in shapes.values()
               for row in peers.values()):
        raise PlotError(f"{source}: expected measurements, but got none")
    return shapes


def text_at(x, y, words, more=""):
    return f'<text x="{x:g}" y="{y:g}" {more}>{escape(words)}</text>'


def draw_legend(peers):
    parts, x = [], LABEL
    for peer in peers:
        parts.append(f'<rect x="{x}" y="36" width="{BAR}" height="{BAR}" '
                     f'fill="{COLOURS.get(peer, OTHER)}"/>')
        parts.append(text_at(x + BAR + 5, 47, peer))
        x += BAR + 24 + 7 * len(peer)
    return parts


def draw_shape(shape, peers, rows, y, scale):
    height = len(rows) * BAR
    parts = [text_at(LABEL - 10, y + height / 2 + 4, shape,
                     'text-anchor="end"')]
    ours = rows.get("jfa", {}).get("ms")
    for peer in (p for p in peers if p in rows):
        row = rows[peer]
        width = row["tflops"] * scale
        parts.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" '
                     f'height="{BAR - 1}" fill="{COLOURS.get(peer, OTHER)}"/>')
        words = f"{row['tflops']:.0f}"
        if ours and peer != "jfa":
            words += f"  ({row['ms'] / ours:.2f} x our time)"
        parts.append(text_at(LABEL + width + 5, y + BAR - 3, words,
                             'class="small"'))
        y += BAR
    return parts


def draw(shapes):
    """The SVG of a run as read_run() returns it."""
    measured = {shape: {p: r for p, r in rows.items() if "tflops" in r}
                for shape, rows in shapes.items()}
    measured = {shape: rows for shape, rows in measured.items() if rows}
    peers = [p for p in COLOURS if any(p in r for r in measured.values())]
    peers += sorted({p for r in measured.values() for p in r} - set(peers))
    most = max(row["tflops"] for rows in measured.values()
               for row in rows.values())
    any_row = next(row for rows in measured.values() for row in rows.values())
    body, y = draw_legend(peers), TOP
    for shape, rows in measured.items():
        body += draw_shape(shape, peers, rows, y, PLOT / most)
        y += len(rows) * BAR + GAP
    width, height = LABEL + PLOT + 170, y + 6
    machine = ", ".join(f"{name} {any_row[name]}" for name in
                        ("gpu", "torch", "cudnn", "jfa") if name in any_row)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        "<style>.small{font-size:10px}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        text_at(LABEL, 20, f"Attention {any_row.get('direction', 'forward')}, "
                f"TFLOP/s ({machine})",
                'font-weight="bold"'),
        *body, "</svg>", ""])
