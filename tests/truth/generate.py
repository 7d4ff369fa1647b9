"""Programs by number: the same seed and number make the same program."""

from __future__ import annotations

import random

from tests.truth import programs
from tests.truth.case import Case, case
from tests.truth.draft import Choices
from tests.truth.forms import FORMS
from tests.truth.holders import MAKERS

CELLS: tuple[tuple[str, str, str], ...] = tuple(
    (kind, holder, form) for kind in programs.KINDS for holder in MAKERS for form in FORMS
)
"""Kind, holder, form: the cells that figures are made of."""


def program(seed: int, number: int, cell: tuple[str, str, str] | None = None) -> Case:
    """Program `number`: of that cell, or of each of CELLS in turn, in an order that the seed shuffles."""
    kind, holder, form = cell or _shuffled(seed)[number % len(CELLS)]
    rng = random.Random(f"{seed}:{number}:{kind}:{holder}:{form}")
    made = _made(rng, kind, holder, form)
    planted = {path: text for path, text in made.program().files.items()}
    return case(number, planted, made.cell)


def _made(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    return programs.training(rng, kind, holder, form)


def _shuffled(seed: int) -> list[tuple[str, str, str]]:
    if seed not in _orders:
        order = list(CELLS)
        random.Random(seed).shuffle(order)
        _orders[seed] = order
    return _orders[seed]


_orders: dict[int, list[tuple[str, str, str]]] = {}
