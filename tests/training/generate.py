"""Programs by number: the same seed and number make the same program."""

from __future__ import annotations

import random

from tests.training import stored, training
from tests.training.program import Program

CONSTRUCTS = (*training.CONSTRUCTS, *stored.CONSTRUCTS)


def program(seed: int, number: int, construct: str = "") -> Program:
    """Program `number`: of that construct, or of each in turn; every second one has an escape."""
    rng = random.Random(f"{seed}:{number}:{construct}")
    construct = construct or CONSTRUCTS[number % len(CONSTRUCTS)]
    escape = (number // len(CONSTRUCTS)) % 2 == 1 if len(CONSTRUCTS) < number else rng.random() < 0.5
    made = stored.data if construct in stored.CONSTRUCTS else training.training
    return made(rng, construct, escape)
