"""What hypothesmith makes, put into a mutant: statements and expressions with every kind of blank, name and number."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Iterator

import libcst
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesmith import from_node

from tests.fuzz.mutate import mutant
from tests.fuzz.program import Program

_NODES = ("Expr", "Assign", "SimpleStatementLine", "FunctionDef", "ClassDef", "With", "For")
"""Not all kinds: hypothesmith takes seconds for a `try` or `match`."""


def generated(rng: random.Random, corpus: list[str], count: int) -> list[str]:
    """About so many programs (less what Python refuses), the same for the same state of `rng`."""
    made: list[str] = []

    @seed(rng.getrandbits(32))
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of([from_node(getattr(libcst, each)) for each in _NODES]))
    def collect(text: str) -> None:
        made.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    return [text for each in made for text in _placed(rng, each, Program(mutant(rng, corpus)))]


def _placed(rng: random.Random, text: str, program: Program) -> Iterator[str]:
    """Programs that parse with the text in the place of an expression, or of a statement."""
    places: list[ast.expr | ast.stmt] = [rng.choice(program.expressions), rng.choice(program.statements)]
    for place in places:
        start, end = program.span(place)
        try:
            yield Program(f"{program.text[:start]}{text.strip()}{program.text[end:]}").text
        except (SyntaxError, ValueError):
            continue
