"""A plot as SVG: no background and middling colours, so that it can be read on white and on black."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tests.proofs.data import Series
from tests.proofs.proof import Plot

WIDTH, HEIGHT = 420, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 48, 34
"""Pixels around the field of the plot."""

TEXT = "#7d8590"
LINES = ("#e5534b", "#2f9e63", "#4184e4")
"""The leaking variant, the fixed one, a third."""

Points = Sequence[tuple[float, float]]


def svg(code: str, plot: Plot, series: Series) -> str:
    """`plot` of the rule `code`; the same data gives the same text."""
    lines = [_scaled(plot, series[name][plot.measure]) for name in plot.lines]
    top = _round_up(max(y for line in lines for _, y in line))
    last = max(x for line in lines for x, _ in line)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="11" fill="{TEXT}" role="img">',
        f"<title>{code}: {escape(plot.title)}</title>",
        f'<text x="8" y="16" font-size="12" font-weight="bold">{code}: {escape(plot.title)}</text>',
        *_axes(plot, top, last),
    ]
    place = LEFT
    for number, (name, line) in enumerate(zip(plot.lines.values(), lines)):
        colour, dash = LINES[number], "" if number == 0 else ' stroke-dasharray="5 3"'
        path = " ".join(f"{_x(x, last):.1f},{_y(y, top):.1f}" for x, y in line)
        parts += [
            f'<line x1="{place}" x2="{place + 18}" y1="32" y2="32" stroke="{colour}" stroke-width="2"{dash}/>',
            f'<text x="{place + 23}" y="36" fill="{colour}">{escape(name)}</text>',
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>',
        ]
        place += 45 + 7 * len(name)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scaled(plot: Plot, points: Points) -> list[tuple[float, float]]:
    """In the plot's unit, above the first point where it is relative, without what precedes `since`."""
    unit = 1024 if plot.measure.endswith("_kb") and plot.unit == "MB" else 1
    kept = [(x, y / unit) for x, y in points if x >= plot.since]
    floor = kept[0][1] if plot.relative else 0
    return [(x, max(y - floor, 0)) for x, y in kept]


def _axes(plot: Plot, top: float, last: float) -> list[str]:
    parts = []
    for share in (0, 0.5, 1):
        y = _y(top * share, top)
        parts += [
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{TEXT}" stroke-opacity="0.35"/>',
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{top * share:g} {plot.unit}</text>',
        ]
    for x in (0, last):
        anchor = "start" if x == 0 else "end"
        shown = f"{x:g} {plot.steps}" if x else "0"
        parts.append(f'<text x="{_x(x, last):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="{anchor}">{shown}</text>')
    return parts


def _x(value: float, last: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / last


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top


def _round_up(value: float) -> float:
    """The next of 1, 2, 3, 4, 5, 6, 8 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * power >= value)
