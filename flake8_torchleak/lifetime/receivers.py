"""Whose objects a method is followed on that nobody is seen to call: its class's, or those of classes below that."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_torchleak.lifetime.declared import left_open
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.model.tree import FunctionNode

_MOST_BELOW = 4
"""Classes below another one that a method of that is followed for."""


class Receivers:
    """The classes of one module that its methods are followed for."""

    def __init__(self, run: Run, own: Place, classes: list[ast.ClassDef]) -> None:
        self._run, self._own, self._classes = run, own, classes

    def of(self, info: ClassInfo, function: FunctionNode) -> list[ClassInfo]:
        """The classes whose objects a method is followed on: itself, or those below it that it leaves something to.

        Those that have a constructor where it has none, and those that have the methods which it only declares.
        """
        below = self._below.get(info, [])
        if not below:
            return [info]
        if info.method("__init__") is None:
            return [each for each in below if each.method("__init__") is not None][:_MOST_BELOW] or [info]
        left = left_open(info, function)
        return [each for each in below if left & each.own.keys()][:_MOST_BELOW] or [info]

    @cached_property
    def _below(self) -> dict[ClassInfo, list[ClassInfo]]:
        """For each class of the module: those below it."""
        found: dict[ClassInfo, list[ClassInfo]] = {}
        for each in (self._run.names.class_info(node, self._own) for node in self._classes):
            for above in each.order[1:]:
                found.setdefault(above, []).append(each)
        return found
