"""Programs by number: the same seed and number make the same program."""

from __future__ import annotations

import random

from tests.training import others, stored, training
from tests.training.program import Program

CONSTRUCTS = (*training.CONSTRUCTS, *stored.CONSTRUCTS, *others.CONSTRUCTS)


def program(seed: int, number: int, construct: str = "") -> Program:
    """Program `number`: of that construct, or of each in turn; every second one has an escape."""
    rng = random.Random(f"{seed}:{number}:{construct}")
    escape = (number if construct else number // len(CONSTRUCTS)) % 2 == 1
    construct = construct or CONSTRUCTS[number % len(CONSTRUCTS)]
    if construct in others.CONSTRUCTS:
        return others.other(rng, construct, escape)
    made = stored.data if construct in stored.CONSTRUCTS else training.training
    return made(rng, construct, escape)
