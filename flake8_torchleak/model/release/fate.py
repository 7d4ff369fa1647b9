"""What may become of a value, from harmless to harmful."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import IntEnum


class Fate(IntEnum):
    """What becomes of a value, from harmless to harmful."""

    READ = 0
    """Printed, counted, logged, turned into numbers: its history is never needed."""
    RETURNED = 1
    """Given to callers that nobody can see."""
    OPEN = 2
    """In reach of code that nobody can see: an attribute, a variable of an outer scope."""
    HANDED = 3
    """Handed to code that nobody can see."""
    ASKED = 4
    """Asked for its history: who asks sees whether it was released."""
    DIFFERENTIATED = 5
    """Differentiated."""


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The worst that becomes of a value: what, where, and in words."""

    fate: Fate
    node: ast.AST | None = None
    why: str = ""


READ = Ending(Fate.READ)


def fate_of(ending: Ending) -> Fate:
    """What `max` goes by: the worst of several endings."""
    return ending.fate
