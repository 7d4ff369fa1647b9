"""What is found of the base programs in every spelling, beside what is found of the canonical one."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.laws.program import Law, Program
from tests.laws.spelling import programs_data, programs_graphs
from tests.laws.spelling.forms import FORMS
from tests.laws.spelling.ways import WAYS
from tests.laws.table import Seen, baseline, definitions, found, matched

PROGRAMS = {**programs_graphs.PROGRAMS, **programs_data.PROGRAMS}
REACHED = "reached by"
"""The fact of all laws about the way to a name: each law is one of its own."""


@dataclass(frozen=True)
class Spelt:
    """One program in one spelling: what it lost of the findings, and which it has that it had not."""

    name: str
    fact: str
    spelling: str
    text: str
    lost: tuple[Seen, ...]
    new: tuple[Seen, ...]

    @property
    def same(self) -> bool:
        return not self.lost and not self.new


def spellings() -> Iterator[tuple[str, str, Law]]:
    """Fact, spelling and law of all."""
    for way, law in WAYS.items():
        yield REACHED, way, law
    for fact, forms in FORMS.items():
        for form, law in forms.items():
            yield fact, form, law


def cases() -> list[tuple[str, str, str, Law]]:
    """All pairs of a program and a spelling that changes it."""
    return [
        (name, fact, spelling, law)
        for fact, spelling, law in spellings()
        for name, text in PROGRAMS.items()
        if law(Program(ast.parse(text)))
    ]


def sample(seed: int, count: int) -> Iterator[tuple[str, str, str, Law]]:
    """So many of them, drawn fact by fact."""
    draw = random.Random(seed)
    by_fact: dict[str, list[tuple[str, Law]]] = {}
    for fact, spelling, law in spellings():
        by_fact.setdefault(fact, []).append((spelling, law))
    facts = [REACHED] * (len(by_fact) // 2) + list(by_fact)
    while count:
        fact, name = draw.choice(facts), draw.choice(list(PROGRAMS))
        spelling, law = draw.choice(by_fact[fact])
        if law(Program(ast.parse(PROGRAMS[name]))):
            count -= 1
            yield name, fact, spelling, law


def spelt(name: str, fact: str, spelling: str, law: Law) -> Spelt:
    """A base program in another spelling."""
    source = PROGRAMS[name]
    program = Program(ast.parse(source))
    assert law(program)
    text = ast.unparse(program.tree)
    compile(text, name, "exec", dont_inherit=True)
    before, after = baseline(source), found(program, text, definitions(source))
    pairs = [(old, new) for old, new in matched(before, after) if old.origins & new.origins]
    lost, new = Counter(before), Counter(after)
    lost.subtract(old for old, _ in pairs)
    new.subtract(each for _, each in pairs)
    return Spelt(name, fact, spelling, text, tuple(lost.elements()), tuple(new.elements()))


def rates(results: Iterable[Spelt]) -> dict[str, tuple[int, int]]:
    """By fact, and each way by itself: how many programs have the same findings, of how many."""
    same: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for each in results:
        key = f"{each.fact} {each.spelling}" if each.fact == REACHED else each.fact
        all_of[key] += 1
        same[key] += each.same
    return {key: (same[key], all_of[key]) for key in all_of}
