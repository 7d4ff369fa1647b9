"""Plots of memory by holder and step, as SVG text that stands in a page by itself."""

from __future__ import annotations

import io
from collections.abc import Sequence

from matplotlib.figure import Figure

from flake8_torchleak.recorder import wording
from flake8_torchleak.recorder.result import Record

Points = Sequence[tuple[int, float]]
_MOST = 8
"""Holders in one plot: those that hold most."""


def by_holder(record: Record) -> str:
    """Bytes by holder over the steps; of those without a size, what was counted. Empty if nothing was kept."""
    growing = [each for each in record.kept if (each.kind, each.pattern) in record.series][:_MOST]
    sized = [each for each in growing if each.size >= 1]
    curves: dict[str, Points] = {}
    for each in sized or growing:
        series = record.series[each.kind, each.pattern]
        curves[each.pattern] = [(step, size if sized else value) for step, value, size in series]
    return _svg(curves, "bytes" if sized else "objects")


def whole_process(record: Record) -> str:
    """Bytes in use by the process, against the first sample. Empty if that was not measured."""
    if len(record.heap) < 2:
        return ""
    first = record.heap[0][1]
    return _svg({"memory in use since the first sample": [(step, size - first) for step, size in record.heap]}, "bytes")


def _svg(curves: dict[str, Points], unit: str) -> str:
    if not curves:
        return ""
    # No pyplot: the program may use it, and have figures of its own.
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        axes.plot([step for step, _ in points], [value for _, value in points], marker=".", label=_label(name))
    if all(value >= 0 for points in curves.values() for _, value in points):
        axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    axes.set_ylabel(unit)
    if unit == "bytes":
        axes.yaxis.set_major_formatter(
            lambda value, at: f"-{wording.size(-value)}" if value < 0 else wording.size(value)
        )
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize="small")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _label(name: str) -> str:
    """A path as a label: matplotlib takes dollars for mathematics, and hides what begins with an underscore."""
    return name.replace("$", r"\$").lstrip("_")
