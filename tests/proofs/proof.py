"""The words of a proof: variants that are run, claims that must come out, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Figures: TypeAlias = Mapping[str, Mapping[str, float]]
"""What was measured: by variant, by the name of the figure (its unit is the end of its name)."""


@dataclass(frozen=True)
class Variant:
    """One child process.

    file: the linted file it runs, beside the proof.
    run: `run(bench, **options)`, a function of the proof; it records figures.
    fixed: run a copy of `file` that `torchleak check --fix --unsafe-fixes` has rewritten.
    seconds: after which a child that has not ended is taken to hang and killed, and the proof fails; far more than any
    takes on a machine under load.
    """

    name: str
    file: str
    run: Callable[..., None]
    options: Mapping[str, object] = field(default_factory=dict)
    fixed: bool = False
    seconds: float = 600


class Claim(Protocol):
    """What must come out, in words and as a question to the figures."""

    @property
    def text(self) -> str: ...

    def holds(self, figures: Figures) -> bool: ...

    def shown(self, figures: Figures) -> str:
        """The figures that the answer was read from."""
        ...


@dataclass(frozen=True)
class Larger:
    """`figure` of variant `bad` is at least `times` that of `good`, and at least `floor * times` in any case."""

    text: str
    figure: str
    bad: str
    good: str
    floor: float
    times: float = 5

    def holds(self, figures: Figures) -> bool:
        return figures[self.bad][self.figure] >= self.times * max(figures[self.good][self.figure], self.floor)

    def shown(self, figures: Figures) -> str:
        bad, good = figures[self.bad][self.figure], figures[self.good][self.figure]
        return f"{self.figure}: {self.bad} {bad:.4g}, {self.good} {good:.4g}"


@dataclass(frozen=True)
class Alike:
    """`figure` of two variants differs by no more than the factor `within`."""

    text: str
    figure: str
    one: str
    other: str
    within: float = 1.5

    def holds(self, figures: Figures) -> bool:
        one, other = figures[self.one][self.figure], figures[self.other][self.figure]
        return 0 < max(one, other) <= self.within * min(one, other)

    def shown(self, figures: Figures) -> str:
        one, other = figures[self.one][self.figure], figures[self.other][self.figure]
        return f"{self.figure}: {self.one} {one:.4g}, {self.other} {other:.4g}"


@dataclass(frozen=True)
class Between:
    """`figure` of a variant lies in [least, most]; for counts that are exact, both are the same number."""

    text: str
    figure: str
    variant: str
    least: float
    most: float

    def holds(self, figures: Figures) -> bool:
        return self.least <= figures[self.variant][self.figure] <= self.most

    def shown(self, figures: Figures) -> str:
        return f"{self.figure}: {self.variant} {figures[self.variant][self.figure]:.4g}"


@dataclass(frozen=True)
class Row:
    """One row of the table of docs/measured.md: what is held, and the figure of a bad variant and of its fixed one.

    shown: a format for each figure, with its unit, such as "{:.0f} KB".
    """

    what: str
    figure: str
    bad: str
    fixed: str
    shown: str


@dataclass(frozen=True)
class Plot:
    """A measure over steps, one line a variant: `lines` maps its name to what the plot calls it, the worst first.

    since: the step at which the plot begins; relative: shown is the growth since then.
    """

    title: str
    measure: str
    unit: str
    steps: str
    lines: Mapping[str, str]
    since: int = 0
    relative: bool = False


@dataclass(frozen=True)
class Proof:
    """What `PROOF` in a proof.py is.

    text: the "Measured" section; `{variant[figure]:.1f}` is filled from the data.
    derive: further figures from the measured ones (per element, above a control), by variant.
    needs: modules beside torch without which the proof cannot run; cores: how many it takes.
    """

    code: str
    text: str
    variants: Sequence[Variant]
    claims: Sequence[Claim]
    rows: Sequence[Row] = ()
    plots: Sequence[Plot] = ()
    derive: Callable[[Figures], Figures] | None = None
    needs: Sequence[str] = ()
    cores: int = 1
