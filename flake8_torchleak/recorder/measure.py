"""What one census finds of one holder, and the interface of those who look for a kind of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from flake8_torchleak.recorder.result import Site
from flake8_torchleak.recorder.walk import Path

Key = tuple[str, str]
"""A kind and a pattern: `("graph", "train.losses[*]")`."""


@dataclass(slots=True)
class Measure:
    """What a holder holds at one step. value: the count that growth is judged by; size: bytes, 0 if not measured."""

    value: float = 0.0
    size: float = 0.0
    holder: str = ""
    bound: str = ""
    note: str = ""
    made: Counter[Site] = field(default_factory=Counter)
    called: Site | None = None


@dataclass(frozen=True, slots=True)
class Age:
    """What is old at a step's end: graph nodes and results with smaller numbers were made two steps ago or earlier."""

    node: int
    result: int


class Collector(Protocol):
    """Looks for one kind of kept value among all that a walk reaches."""

    @property
    def wants(self) -> str:
        """What it is to be shown in this census: "modules", "values" (tensors and arrays), or nothing."""

    def see(self, path: Path, value: Any) -> None:
        """A tensor, an array or a module, met once in a census."""

    def close(self, age: Age) -> dict[Key, Measure]:
        """What there is, now that all was seen; the collector is empty again."""
