"""A program while it is made: its files, its names, and where its variables live."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import indent
from typing import TypeVar

from tests.training.names import STYLES, Names
from tests.training.program import ENTRY, Program

COPY, END = "\N{LEFT WHITE SQUARE BRACKET}", "\N{RIGHT WHITE SQUARE BRACKET}"
"""Around an expression of which a copy was meant: see `stored.py`."""

STEPS = 9
"""Batches of a loop, if nobody asks for more."""

T = TypeVar("T")
Lines = list[str]


@dataclass
class Source:
    """One file: its imports, its definitions, and the statements at its end."""

    imports: dict[str, None] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)
    statements: Lines = field(default_factory=list)

    def text(self) -> str:
        parts = ["\n".join(self.imports), *self.definitions, "\n".join(self.statements)]
        return "\n\n\n".join(part for part in parts if part) + "\n"


class Draft:
    """What is decided on the way. before: statements ahead of the loop; inits: those of the class's `__init__`.

    stage: "function", "method" or "script": where the loop stands, and so where a variable may live.
    """

    def __init__(self, rng: random.Random, construct: str) -> None:
        self.rng = rng
        self.construct = construct
        self.names = Names(rng, rng.choice(STYLES))
        self.main = Source()
        self.others: dict[str, Source] = {}
        self.tags = {construct}
        self.cell: dict[str, str] = {}
        self.escape = ""
        self.stage = "function"
        self.before: Lines = []
        self.inits: Lines = []
        self.bases: list[str] = []
        self.methods: list[str] = []
        self.places: set[str] = set()
        self.result = ""
        self.caller: Lines = []
        self.always_self = False
        self.holders = 1
        self.steps = STEPS

    # -- choices --------------------------------------------------------------------------------------------

    def pick(self, *options: T) -> T:
        """One of them."""
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """True in that share of the cases."""
        return self.rng.random() < share

    def new(self, meaning: str) -> str:
        """A new name."""
        return self.names.new(meaning)

    def tag(self, *tags: str) -> None:
        """Say what the program holds."""
        self.tags.update(tags)

    # -- where things go ------------------------------------------------------------------------------------

    def need(self, *imports: str, source: Source | None = None) -> None:
        """Imports of the entry, or of another file."""
        (source or self.main).imports.update(dict.fromkeys(imports))

    def bind(self, meaning: str, value: str, shared: bool | None = None) -> str:
        """A variable that lives through the loop: a local name, an attribute of self or a global; and its value.

        shared: whether functions other than the one with the loop must be able to read it; None if it does not matter.
        """
        name = self.new(meaning)
        local = any(re.search(rf"(?<![\w.]){each}\b", value) for each in self.places if "." not in each)
        if (
            self.stage == "method"
            and not local
            and (self.always_self or shared or (shared is None and self.chance(0.6)))
        ):
            self.inits.append(f"self.{name} = {value}")
            name = f"self.{name}"
        elif self.stage != "script" and shared:
            self.main.statements.append(f"{name} = {value}")
        else:
            self.before.append(f"{name} = {value}")
        self.places.add(name)
        return name

    def define(self, text: str, source: Source | None = None) -> None:
        """A function or class at the top of the entry, or of another file."""
        (source or self.main).definitions.append(text)

    def other(self) -> tuple[str, Source]:
        """Another file, and how it is imported: its dotted name."""
        self.tag("modules")
        if self.others and self.chance(0.5):
            path = self.rng.choice(list(self.others))
        else:
            name = self.new("module")
            path = self.pick(f"{name}.py", f"{name}.py", f"pkg/{name}.py")
            self.others.setdefault(path, Source())
        return path.removesuffix(".py").replace("/", "."), self.others[path]

    def exported(self, name: str, text: str, imports: Iterable[str] = ()) -> str:
        """What to write for something that is defined in another file."""
        dotted, source = self.other()
        self.need(*imports, source=source)
        self.define(text, source)
        if self.chance(0.6) or "." in dotted:
            if self.chance(0.2):
                alias = self.new("temp")
                self.need(f"from {dotted} import {name} as {alias}")
                return alias
            self.need(f"from {dotted} import {name}")
            return name
        self.need(f"import {dotted}")
        return f"{dotted}.{name}"

    def placed(self, name: str, text: str, imports: Iterable[str] = ()) -> str:
        """A definition here or in another file, and what to write for it."""
        if self.construct == "modules" or self.chance(0.25):
            return self.exported(name, text, imports)
        self.need(*imports)
        self.define(text)
        return name

    # -- the end --------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """The program."""
        files = {ENTRY: self.main.text(), **{path: each.text() for path, each in self.others.items()}}
        as_is = {path: text.replace(COPY, "").replace(END, "") for path, text in files.items()}
        meant = [{path: text.replace(COPY, made).replace(END, ")") for path, text in files.items()} for made in _COPIES]
        meant = [] if as_is in meant else meant
        return Program(
            as_is, self.construct, frozenset(self.tags), self.escape, tuple(meant), self.holders, dict(self.cell)
        )


_COPIES = "__import__('copy').deepcopy(", "__import__('copy').copy("
"""What was meant: a deep copy, or a shallow one, which some objects allow alone."""


def block(header: str, lines: Iterable[str]) -> Lines:
    """Lines under a header."""
    return [header, *(indent(line, "    ") for line in lines)]


def function(name: str, parameters: str, lines: Iterable[str]) -> str:
    """The text of a function."""
    return "\n".join(block(f"def {name}({parameters}):", lines))
