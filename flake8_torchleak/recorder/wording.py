"""The recorder's words: for sizes, growth and places. Shared by its reports."""

from __future__ import annotations

import os

from flake8_torchleak.recorder.growth import ENOUGH
from flake8_torchleak.recorder.join import Judged
from flake8_torchleak.recorder.result import KINDS, Kept, Record, Site

_UNITS = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3))

STEP = {"optimizer": "step", "loader": "batch", "backward": "backward", "manual": "step", "fetch": "batch"}
"""What one tick of a clock is called."""


def size(count: float) -> str:
    """Bytes as a person writes them: 0.53 MB."""
    for unit, factor in _UNITS:
        if count >= factor:
            number = count / factor
            return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{count:.0f} bytes"


def place(site: Site) -> str:
    """A place with its path as short as it gets."""
    path = os.path.relpath(site.path) if os.path.isabs(site.path) else site.path
    return f"{site.path if path.startswith('..') else path}:{site.line}"


def cost(kept: Kept, record: Record) -> str:
    """What it costs: a step, so far, and in an epoch; empty if it did not grow."""
    growth = kept.growth
    if growth is None:
        return ""
    step = STEP[kept.clock]
    if kept.size_per_step < 1:
        return f"+{growth.slope:.3g} a {step}, {kept.count:.0f} after {_many(growth.end, step)}"
    words = f"+{size(kept.size_per_step)} a {step}, {size(kept.size)} after {_many(growth.end, step)}"
    if kept.most:
        words += f"; all of it: {size(kept.most)} in each worker"
    elif record.steps_per_epoch:
        epoch = kept.size_per_step * record.steps_per_epoch
        words += f"; an epoch of {_many(record.steps_per_epoch, step)}: {size(epoch)}"
        words += ", in all workers together" if kept.clock == "fetch" else ""
    return words


def _many(count: int, step: str) -> str:
    plural = f"{step}es" if step.endswith("ch") else step if step == "backward" else f"{step}s"
    return f"{count:,} {plural}"


def sentence(kept: Kept, record: Record) -> str:
    """What was kept, by whom, and at what cost, in one line."""
    if kept.kind == "unheld":
        head = "tensors with an autograd graph stay in memory; what keeps them was not seen"
    elif kept.kind in ("data", "evaluation", "thread"):
        head = f"{kept.holder}: {kept.note}"
    else:
        head = (
            f"`{kept.pattern}` keeps {KINDS[kept.kind]}"
            if kept.kind in ("graph", "batch")
            else (f"`{kept.pattern}`: {KINDS[kept.kind]}")
        )
    spent = cost(kept, record)
    return f"{head}: {spent}" if spent else head


def details(kept: Kept) -> list[str]:
    """Further lines: an example, where it was made, the slope and its certainty, why it is bounded."""
    lines = []
    if kept.holder != kept.pattern and kept.kind in ("graph", "batch"):
        lines.append(f"for example `{kept.holder}`")
    lines += [f"made at {place(each)} in {each.function}" for each in kept.made]
    if kept.called is not None:
        lines.append(f"called from {place(kept.called)} in {kept.called.function}")
    if kept.growth is not None:
        line = kept.growth
        step = STEP[kept.clock]
        error = line.error if line.error > 1e-9 * abs(line.slope) else 0  # of the arithmetic
        lines.append(
            f"grew {line.slope:.3g} ± {error:.2g} a {step} from {step} {line.start} to {line.end}"
            f" ({line.samples} samples)"
        )
    if kept.bound:
        lines.append(f"bounded: {kept.bound}")
    if kept.note and kept.kind not in ("data", "evaluation", "thread"):
        lines.append(kept.note)
    return lines


def heading(judged: Judged) -> str:
    """A static finding's place, code and message."""
    finding = judged.finding
    return f"{place(Site(judged.path, finding.span.line))}: {finding.code} {finding.message} [{finding.slug}]"


def whole(record: Record) -> list[str]:
    """How the process grew altogether, as far as that was measured."""
    lines = []
    for name, points in (("memory in use", record.heap), ("memory on the GPU", record.device)):
        if len(points) > 2:
            slope, words = _slope(points)
            lines.append(f"{name}, the whole process: {'-' if slope < 0 else '+'}{size(abs(slope))} {words}")
    if record.workers:
        most = max(record.workers, key=lambda each: each.gain)
        fetched = _many(most.private[-1][0], STEP["fetch"])
        lines.append(f"private memory of workers: at most +{size(max(0.0, most.gain))} after {fetched} ({most.name})")
    if len(record.descriptors) > 2:
        slope, words = _slope(record.descriptors)
        if abs(slope) >= 0.05:
            lines.append(f"open file descriptors, the whole process: {slope:+.2g} {words}")
    return lines


def _slope(points: tuple[tuple[int, float], ...]) -> tuple[float, str]:
    """The rise a step after the first quarter, and from where to where."""
    (start, first), (end, last) = points[len(points) // 4], points[-1]
    return (last - first) / (end - start), f"a step from step {start} to {end}"


def verdict(record: Record) -> str:
    """What the run says as a whole."""
    count = len(record.growing)
    if count:
        return f"Growth was confirmed: {count} holder{'s' * (count != 1)}."
    if not record.steps:
        return "Nothing was judged: no step was seen."
    if not record.enough:
        return f"Nothing was judged: growth shows over at least {ENOUGH} steps only."
    return "No growth was confirmed."


def summary(record: Record) -> str:
    """How much was seen."""
    steps = ", ".join(f"{count:,} {_clock(name, count)}" for name, count in record.steps.items()) or "no steps"
    return f"{steps} in {record.seconds:.1f} s"


def _clock(name: str, count: int) -> str:
    words = {
        "optimizer": "optimizer step",
        "loader": "batch in evaluation",
        "backward": "run of backward",
        "manual": "step",
    }[name]
    plural = words.replace("batch", "batches").replace("run of", "runs of")
    return words if count == 1 else plural if plural != words else f"{words}s"
