"""Plots of memory by holder and step, as SVG text that stands in a page by itself."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from flake8_torchleak.recorder import wording
from flake8_torchleak.recorder.result import Kept, Record

Points = Sequence[tuple[int, float]]
_MOST = 8
"""Holders in one plot: those that hold most."""
_LONGEST = 90
"""Letters of a label: its middle is left out."""
_INK = "#010203"
"""Stands for the page's own colour of text, which is light on dark screens."""


def by_holder(record: Record) -> str:
    """Bytes by holder over the steps; of those without a size, what was counted. Empty if nothing was kept."""
    return _holders(record, [each for each in record.kept if each.clock != "fetch"], "step")


def by_holder_in_workers(record: Record) -> str:
    """The same of what grew in workers, in the worker in which it grew most, over the batches that it fetched."""
    return _holders(record, [each for each in record.kept if each.clock == "fetch"], "batches fetched by the worker")


def by_worker(record: Record) -> str:
    """Bytes that each worker has of its own, against its start; of many workers, those that grew most."""
    workers = sorted((each for each in record.workers if len(each.private) > 1), key=lambda each: -each.gain)[:_MOST]
    curves = {each.name: [(step, size - each.private[0][1]) for step, size in each.private] for each in workers}
    return _svg(curves, "bytes", "batches fetched by the worker")


def _holders(record: Record, kept: list[Kept], steps: str) -> str:
    seen = [(each, record.series.get((each.kind, each.pattern), ())) for each in kept]
    drawn = [(each, series) for each, series in seen if series][:_MOST]
    sized = [(each, series) for each, series in drawn if any(size >= 1 for _, _, size in series)]
    curves: dict[str, Points] = {}
    for each, series in sized or drawn:
        curves[each.pattern] = [(step, size if sized else value) for step, value, size in series]
    return _svg(curves, "bytes" if sized else "objects", steps)


def whole_process(record: Record) -> str:
    """Bytes in use by the process, against the first sample. Empty if that was not measured."""
    if len(record.heap) < 2:
        return ""
    first = record.heap[0][1]
    points = [(step, size - first) for step, size in record.heap]
    return _svg({"memory in use since the first sample": points}, "bytes", "step")


def _svg(curves: Mapping[str, Points], unit: str, steps: str) -> str:
    if not curves:
        return ""
    # No pyplot: the program may use it, and have figures of its own.
    figure = Figure(figsize=(8, 3.2 + 0.2 * len(curves)), layout="constrained", facecolor="none")
    axes = figure.subplots()
    axes.set_facecolor("none")
    for name, points in curves.items():
        axes.plot(
            [step for step, _ in points],
            [value for _, value in points],
            marker=".",
            label=_label(name, points[-1][1], unit),
        )
    if all(value >= 0 for points in curves.values() for _, value in points):
        axes.set_ylim(bottom=0)
    axes.set_xlabel(steps, color=_INK)
    axes.set_ylabel(unit, color=_INK)
    if unit == "bytes":
        axes.yaxis.set_major_formatter(lambda value, at: _amount(value, unit))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(colors=_INK)
    for side in axes.spines.values():
        side.set_edgecolor(_INK)
    axes.grid(alpha=0.3)
    # Below, where it covers no curve.
    figure.legend(loc="outside lower left", fontsize="small", labelcolor=_INK, frameon=False)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = out.getvalue()
    return text[text.index("<svg") :].replace(_INK, "currentColor")


def _label(name: str, last: float, unit: str) -> str:
    """A path and its last value; matplotlib takes dollars for mathematics, and hides what begins with an underscore."""
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}...{name[-_LONGEST // 2 :]}"
    return f"{short.lstrip('_')}: {_amount(last, unit)}".replace("$", r"\$")


def _amount(value: float, unit: str) -> str:
    if unit != "bytes":
        return f"{value:,.0f}"
    return f"-{wording.size(-value)}" if value < 0 else wording.size(value)
