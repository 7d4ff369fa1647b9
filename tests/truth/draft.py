"""A program of the truth harness while it is made: a Draft that also knows where its holder lives."""

from __future__ import annotations

import random

from tests.training.draft import Draft, Lines, function
from tests.truth.case import HOLDER, KEEP, mark

STEPS = 16
"""Batches of an epoch: growth is judged over ten steps at least, after the first fifth."""


class Choices(Draft):
    """rebound: names of the function (or module) with the loop that its nested functions bind anew.

    globals: module names that functions bind anew. form: how a value gets to its holder. nested_before: functions
    inside the one with the loop. decorators: of that one.
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
        self.nested_before: Lines = []
        self.decorators: Lines = []

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


def keeping(lines: Lines) -> Lines:
    """Statements that keep."""
    return [mark(each, KEEP) for each in lines]


def making(line: str) -> str:
    """The statement that makes a holder."""
    return mark(line, HOLDER)
