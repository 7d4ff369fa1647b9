"""What is found of a program before and after it is written another way.

*The same finding*: the same code, and the same place in the program as it was. The text that a law makes is parsed
again, statement by statement beside the tree that it was made of, so that the line of a finding there leads to the
statement that it came from. A finding is kept if one of its code stands at the same statement, else anywhere in the
same function or class of the module (what is handed to a helper is kept where it is handed over, and what is moved
into a base class is still of the class that it came from), else in code that the law added, which is of no place. Each
finding keeps one. So a finding that goes from one function and comes in another is one lost and one new.

All rules count, opinionated ones and notes too; not what says that a file was not analysed in full.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.conventions import resting
from flake8_torchleak.finding import BOUND, Severity
from flake8_torchleak.lint import lint
from tests.laws import conditions, helpers, holders, loops, stores, values
from tests.laws.program import Law, Program, statements
from tests.training.program import on_disk

LAWS: dict[str, Law] = {
    each.__name__: each
    for each in (
        values.rename,
        stores.outline,
        stores.outline_module,
        stores.two_level,
        stores.outline_method,
        stores.closure,
        stores.bound_method,
        stores.partial,
        helpers.outline_value,
        helpers.outline_call,
        helpers.outline_slot,
        helpers.outline_body,
        values.inline,
        holders.in_record,
        holders.dataclass,
        holders.in_dict,
        holders.in_attribute,
        holders.in_method,
        holders.as_property,
        holders.read_method,
        holders.base_class,
        holders.methods_in_base,
        stores.plain_assign,
        stores.plus_list,
        stores.extend_list,
        loops.unpack,
        loops.indexed,
        loops.while_next,
        loops.while_sentinel,
        loops.to_comprehension,
        loops.extend_generator,
        loops.sum_generator,
        loops.to_loop,
        values.no_grad_decorator,
        values.no_grad_with,
        values.backward_function,
        conditions.split_if,
        conditions.under_flag,
    )
}
FAMILIES = {"TLK4": ("TLK4",), "TLK6": ("TLK6",), "TLK4+6": ("TLK4", "TLK6"), "all": ("TLK",)}
FIXTURES = Path(__file__).parents[2] / "fixtures"
MAIN = "main.py"
RENAME = values.rename.__name__
"""The law under which a finding may be lost that says itself that it rests on a name."""


@dataclass(frozen=True)
class Seen:
    """A finding, and the statements of the old text that it stands at: none in code that a law added.

    named: whether it rests on a name, as it says itself.
    """

    code: str
    severity: Severity
    origins: frozenset[int]
    definitions: frozenset[str]
    line: int
    text: str
    named: bool = False


@dataclass(frozen=True)
class Reshaped:
    """One file under one law: its new text, and what was found in the old and the new one."""

    path: str
    law: str
    text: str
    before: tuple[Seen, ...]
    after: tuple[Seen, ...]
    kept: tuple[tuple[Seen, Seen], ...]

    @property
    def lost(self) -> list[Seen]:
        return _without(self.before, [old for old, _ in self.kept])

    @property
    def new(self) -> list[Seen]:
        return _without(self.after, [new for _, new in self.kept])


def _without(found: Sequence[Seen], taken: Sequence[Seen]) -> list[Seen]:
    left = Counter(found)
    left.subtract(taken)
    return [*left.elements()]


def reshaped(path: str, source: str, name: str) -> Reshaped | None:
    """The file under the law of this name; None where the law finds nothing to change."""
    program = Program(ast.parse(source))
    if not LAWS[name](program):
        return None
    text = ast.unparse(program.tree)
    compile(text, path, "exec", dont_inherit=True)  # a law that breaks a program measures nothing
    before, after = baseline(source, name == RENAME), found(program, text, definitions(source))
    return Reshaped(path, name, text, before, after, tuple(matched(before, after)))


@cache
def baseline(source: str, named: bool = False) -> tuple[Seen, ...]:
    """What is found in the file as `ast.unparse` gives it. named: with whether that rests on names."""
    program = Program(ast.parse(source))
    return found(program, ast.unparse(program.tree), definitions(source), named)


@cache
def definitions(source: str) -> dict[int, str]:
    """Lines of the module's own functions and classes, by name."""
    return {
        line: each.name
        for each in ast.parse(source).body
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for line in range(min([each.lineno, *(one.lineno for one in each.decorator_list)]), (each.end_lineno or 0) + 1)
    }


def found(program: Program, text: str, names: dict[int, str], named: bool = False) -> tuple[Seen, ...]:
    """What is found in the text of a program, traced to the old lines."""
    origins = traced(program, text)
    with on_disk({MAIN: text, **program.others}) as folder:
        path = str(folder / MAIN)
        findings = lint(text, path=path)
        findings = resting(findings, text, DEFAULT, path) if named else findings
    seen = []
    for each in findings:
        if each.code != BOUND:
            lines = origins.get(each.span.line, frozenset())
            where = frozenset(names.get(line, "") for line in lines)
            seen.append(
                Seen(each.code, each.severity, lines, where, each.span.line, each.message, bool(each.conventions))
            )
    return tuple(seen)


def traced(program: Program, text: str) -> dict[int, frozenset[int]]:
    """For every line of the text, the old lines of the innermost statement there."""
    origins: dict[int, frozenset[int]] = {}
    for old, new in zip(statements(program.tree), statements(ast.parse(text)), strict=True):
        assert type(old) is type(new)
        known = frozenset(line for line in (getattr(old, "lineno", 0), program.also.get(old, 0)) if line)
        first = min([new.lineno, *(each.lineno for each in getattr(new, "decorator_list", ()))])
        for line in range(first, (new.end_lineno or new.lineno) + 1):
            origins[line] = known
    return origins


def matched(before: Iterable[Seen], after: Iterable[Seen]) -> Iterator[tuple[Seen, Seen]]:
    """Which findings are the same: see above."""
    left, candidates = list(before), list(after)
    for near in range(3):
        for old in list(left):
            for new in candidates:
                if old.code == new.code and _same(old, new)[near]:
                    yield old, new
                    left.remove(old)
                    candidates.remove(new)
                    break


def _same(old: Seen, new: Seen) -> tuple[bool, bool, bool]:
    """At the same statement; in the same definition; in code that the law added."""
    return bool(old.origins & new.origins), bool(old.definitions & new.definitions), not new.origins


@dataclass
class Rate:
    """How many findings were kept, of how many, by code; how many are new, and how many are told less loudly."""

    files: int = 0
    before: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    """Of those lost: how many say themselves that they rest on a name."""
    quieter: int = 0

    def add(self, one: Reshaped) -> None:
        self.files += 1
        self.before.update(each.code for each in one.before)
        self.kept.update(old.code for old, _ in one.kept)
        self.new.update(each.code for each in one.new)
        self.explained.update(each.code for each in one.lost if each.named)
        order = list(Severity)
        self.quieter += sum(order.index(new.severity) > order.index(old.severity) for old, new in one.kept)

    def of(self, family: str) -> tuple[int, int]:
        """Kept, and all, of a family."""
        return _sum(self.kept, FAMILIES[family]), _sum(self.before, FAMILIES[family])

    def told(self, family: str) -> float:
        """The share that is kept, or lost and explained by a name."""
        kept, before = self.of(family)
        return (kept + _sum(self.explained, FAMILIES[family])) / before if before else 1.0

    def share(self, family: str) -> float:
        """Kept of all; 1 where there is nothing to keep."""
        kept, before = self.of(family)
        return kept / before if before else 1.0


def _sum(counts: Counter[str], codes: tuple[str, ...]) -> int:
    return sum(count for code, count in counts.items() if code.startswith(codes))


def fixtures(folder: Path = FIXTURES, prefix: str = "bad_") -> dict[str, str]:
    """The texts of fixtures whose names begin so, by path."""
    paths = sorted(each for each in folder.rglob("*.py") if each.name.startswith(prefix))
    return {str(each.relative_to(folder)): each.read_text(encoding="utf-8") for each in paths}


def results(texts: dict[str, str], law: str) -> list[Reshaped]:
    """All files that the law changes."""
    return [one for path, text in texts.items() if (one := reshaped(path, text, law)) is not None]


def rate(found: Iterable[Reshaped]) -> Rate:
    total = Rate()
    for each in found:
        total.add(each)
    return total
