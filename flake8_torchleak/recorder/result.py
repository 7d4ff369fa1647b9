"""What a recording tells: what was kept, where it was made, who holds it, and how fast it grew. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flake8_torchleak.recorder.growth import ENOUGH, Growth


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A place in source: the file's path as Python knows it, the line (1-based), the function around it."""

    path: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


KINDS = {
    "graph": "an autograd graph",
    "batch": "batch memory of worker processes",
    "worker": "objects that each worker copies",
    "cache": "a container that grows in each worker",
    "hook": "hooks registered again and again",
    "figure": "open figures",
    "thread": "OpenCV threads in each worker",
    "data": "stored samples that change",
    "evaluation": "autograd graphs of evaluation, which nothing differentiates",
    "unheld": "tensors with an autograd graph, kept by something that was not seen",
}
"""The kinds of what can be kept, in words."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing that outlived its step.

    kind: one of KINDS. holder: an example path a person can read, `train.losses[17]`; pattern: the same for all of
    them, `train.losses[*]`. made: where the kept values were made, the most frequent first; called: the first-party
    line that led there, where `made` is a library's. growth: in values a step; None: seen, and did not grow.
    count: values at the end; size: bytes at the end, of what was measured (0: not measured); size_per_step: bytes.
    bound: why it cannot grow for ever, in words; empty if nothing bounds it. note: what else is known, one line.
    clock: what a step is here: "optimizer", "loader", "backward", "manual" or, in workers, "fetch".
    most: bytes that it can take in one worker, at most: all that can be copied; 0 where nothing says so.
    """

    kind: str
    holder: str
    pattern: str
    made: tuple[Site, ...] = ()
    called: Site | None = None
    growth: Growth | None = None
    count: float = 0.0
    size: float = 0.0
    size_per_step: float = 0.0
    bound: str = ""
    note: str = ""
    clock: str = "optimizer"
    most: float = 0.0

    @property
    def grows(self) -> bool:
        """Whether it grew, by the definition in `growth`, and nothing bounds it."""
        return self.growth is not None and not self.bound


@dataclass(frozen=True, slots=True)
class Worker:
    """The private memory of one worker process. name: its Dataset and number; private: bytes, by batches fetched."""

    name: str
    private: tuple[tuple[int, float], ...]

    @property
    def gain(self) -> float:
        """Bytes by which it grew."""
        return self.private[-1][1] - self.private[0][1]


@dataclass(slots=True)
class Record:
    """What was seen of a run.

    kept: all that outlived its step, what grows first. steps: how many there were, by clock. epochs: completed passes
    over the loader that was iterated most. steps_per_epoch: batches of that loader; 0 if unknown.
    heap: bytes that the process had allocated and not freed, by step of the leading clock; empty where not measured.
    descriptors: open file descriptors; device: bytes that torch has allocated on the GPU; both likewise.
    series: by (kind, pattern), the steps and what was counted (and its bytes) at each: for plots.
    workers: the worker processes of loaders, in the order in which they were started.
    notes: what could not be seen or measured in this run, one line each.
    """

    kept: tuple[Kept, ...] = ()
    steps: Mapping[str, int] = field(default_factory=dict)
    epochs: int = 0
    steps_per_epoch: int = 0
    heap: tuple[tuple[int, float], ...] = ()
    descriptors: tuple[tuple[int, float], ...] = ()
    device: tuple[tuple[int, float], ...] = ()
    series: Mapping[tuple[str, str], tuple[tuple[int, float, float], ...]] = field(default_factory=dict)
    workers: tuple[Worker, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def growing(self) -> tuple[Kept, ...]:
        """What grew."""
        return tuple(each for each in self.kept if each.grows)

    @property
    def enough(self) -> bool:
        """Whether there were steps enough to judge growth: of fewer, silence proves nothing."""
        return max(self.steps.values(), default=0) >= ENOUGH

    @property
    def leaks(self) -> bool:
        """Whether growth was confirmed."""
        return bool(self.growing)
