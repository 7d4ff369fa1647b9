"""A program of the truth harness while it is made: a Draft that also knows where its holder lives."""

from __future__ import annotations

import random
import re

from tests.training.draft import Draft, Lines, function
from tests.truth.case import HOLDER, KEEP, mark

_HANDED = ("model", "loader", "optimizer", "criterion", "paths")
STEPS = 16
"""Batches of an epoch: growth is judged over ten steps at least, after the first fifth."""


class Choices(Draft):
    """rebound: names of the function (or module) with the loop that its nested functions bind anew.

    globals: module names that functions bind anew. form: how a value gets to its holder. nested_before: functions
    inside the one with the loop. opening: its first statements. decorators: of that one. passed: models, loaders and
    optimizers are parameters; parameters: their names inside and outside.
    """

    def __init__(self, rng: random.Random, kind: str, holder: str, form: str) -> None:
        super().__init__(rng, kind)
        self.form = form
        self.cell = {"kind": kind, "holder": holder, "form": form}
        self.steps = STEPS
        self.rebound: list[str] = []
        self.globals: list[str] = []
        self.base_inits: Lines = []
        self.base_methods: list[str] = []
        self.opening: Lines = []
        self.nested_before: Lines = []
        self.passed = self.chance(0.6)
        self.parameters: list[tuple[str, str]] = []
        self.decorators: Lines = []

    def bind(self, meaning: str, value: str, shared: bool | None = None) -> str:
        """As in a Draft; but what a caller would hand over comes as a parameter where the program is made so."""
        if not self.passed or self.stage == "script" or meaning not in _HANDED:
            return super().bind(meaning, value, shared)
        for inner, outer in self.parameters:
            value = renamed(renamed(value, f"self.{inner}", outer), inner, outer)
        outer = self.new(meaning)
        self.main.statements.append(f"{outer} = {value}")
        inner = outer if self.chance(0.5) else self.new(meaning)
        self.parameters.append((inner, outer))
        if self.stage == "method":
            self.inits.append(f"self.{inner} = {inner}")
            self.places.add(f"self.{inner}")
            return f"self.{inner}"
        self.places.add(inner)
        return inner

    @property
    def given(self) -> tuple[str, str]:
        """The parameters of the function with the loop (or of its class), and the arguments of its call."""
        return ", ".join(inner for inner, _ in self.parameters), ", ".join(outer for _, outer in self.parameters)

    def nested(self, name: str, parameters: str, lines: Lines) -> Lines:
        """A function inside the one with the loop: it may bind the holder's name anew."""
        return function(name, parameters, [*self.scoped(lines), *lines]).split("\n")

    def scoped(self, lines: Lines) -> Lines:
        """The declarations that a nested function with these lines needs."""
        text = "\n".join(lines)
        word = "global" if self.stage == "script" else "nonlocal"
        head = [f"{word} {name}" for name in self.rebound if name in text]
        return head + [f"global {name}" for name in self.globals if name in text]

    def top(self, name: str, parameters: str, lines: Lines) -> str:
        """The text of a function at the top of the module."""
        text = "\n".join(lines)
        head = [f"global {each}" for each in self.globals if each in text]
        return function(name, parameters, [*head, *lines])


def renamed(text: str, old: str, new: str) -> str:
    """A text with another expression wherever that one stands, as a whole."""
    return re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", lambda found: new, text)


def keeping(lines: Lines) -> Lines:
    """Statements that keep."""
    return [mark(each, KEEP) for each in lines]


def making(line: str) -> str:
    """The statement that makes a holder."""
    return mark(line, HOLDER)
