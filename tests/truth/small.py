"""Makes a program that lint and the census disagree on small: as long as both say of it what they said."""

from __future__ import annotations

from tests.fuzz.shrink import shrunk
from tests.training.program import joined, split
from tests.truth.case import Case, case
from tests.truth.census import label
from tests.truth.compare import Outcome, compare


def small(outcome: Outcome, seconds: float = 20) -> Case:
    """The smallest program found with the same result, that retains the same and claims no other codes."""
    first = outcome.case
    codes = {each.code for each in outcome.claims}

    def made(text: str) -> Case:
        return case(first.number, split(text), first.cell)

    def same(text: str) -> bool:
        candidate = made(text)
        if "#@step" not in text:
            return False
        found = compare(candidate, label(candidate))
        return (
            not found.label.error
            and found.result == outcome.result
            and found.label.growth.keys() == outcome.label.growth.keys()
            and {each.code for each in found.claims} <= codes
        )

    text = joined(first.planted)
    return made(shrunk(text, same, seconds)) if same(text) else first
