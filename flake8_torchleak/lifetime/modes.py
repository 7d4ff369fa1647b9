"""Which networks are in evaluation mode, and since what: each has a mode of its own, which its parts follow."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.heap import DEEPEST
from flake8_torchleak.lifetime.identity import inside, is_below, is_network, key_of, learns, whole_of
from flake8_torchleak.lifetime.journal import Fields
from flake8_torchleak.lifetime.libraries import EACH
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import Atom, Kind, Obj, Value, join

if TYPE_CHECKING:
    from flake8_torchleak.lifetime.run import Run

_SAME = frozenset({"module", "inner", EACH})
"""What stands behind a network in the name of one in it that may be the same."""


class Modes(Part):
    """Keeps account of it, network by network."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._table: Fields = {}
        """Network -> the switches that may have been the last one: of each, whether the network trains then."""
        self._last: Atom | None = None
        """What was put in evaluation mode last."""

    def switch(self, atom: Atom, trains: bool, node: ast.AST, is_part: bool) -> None:
        """A network is told in which mode to be, its parts with it. trains: or may do so.

        is_part: a network tells a part of it, which says nothing about others.
        """
        self._switch(atom, (Atom(Kind.NUMBER, node, made=trains),), DEEPEST)
        if not is_part:
            self._last = atom

    def _switch(self, atom: Atom, told: Value, depth: int) -> None:
        key = key_of(atom)
        for each in (key, *[each for each in self._table if each != key and is_below(each, key)]):
            self.run.journal.put(self._table, each, told)
        if isinstance(atom.made, Obj) and depth:
            for part in inside(self.run, atom.made):
                if learns(part):
                    self._switch(part, told, depth - 1)

    def any_trains(self, node: ast.AST) -> None:
        """Some network is told to train, and what it is, only code knows that nobody can see: any may be the one."""
        for key, told in list(self._table.items()):
            self.run.journal.put(self._table, key, join([told, (Atom(Kind.NUMBER, node, made=True),)]))

    def evaluating(self, atom: Atom) -> ast.AST | None:
        """What put a network in evaluation mode: it, or what it is a part of; None where something makes it train.

        Of one that nobody told, the last network that was told speaks, unless that is another one, or a part of it.
        """
        told = self._told(key_of(atom))
        if not told:
            return None if self._is_another(atom) else self.run.evaluating_since
        (first, *_) = told
        found = first.site if all(each.made is False for each in told) else None
        return found if isinstance(found, ast.AST) else None

    def is_evaluated(self, atom: Atom) -> bool:
        """Whether something is a network that was put in evaluation mode, or a part of one."""
        return (
            bool(self._table) and learns(atom) and bool(self._told(key_of(atom))) and self.evaluating(atom) is not None
        )

    def _told(self, key: Hashable) -> Value:
        """What a network was told, or else what it is a part of."""
        while not self._table.get(key) and (whole := whole_of(key)) is not None:
            key = whole
        return self._table.get(key, ())

    def _is_another(self, atom: Atom) -> bool:
        """Whether the network that was told last is seen to be none that this one is made of, or a part of."""
        last = self._last
        if last is None:
            return False
        if isinstance(atom.made, Obj) and any(key_of(each) == key_of(last) for each in inside(self.run, atom.made)):
            return True
        return _has_a_name(atom) and _has_a_name(last)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is told meanwhile is forgotten then: who follows a function on its own shows nothing about others."""
        before, last = dict(self._table), self._last
        yield
        self._table.clear()
        self._table.update(before)
        self._last = last


def _has_a_name(atom: Atom) -> bool:
    """Whether a network is a parameter, an attribute, or an object of the project: under two names there are two."""
    if isinstance(atom.made, Obj):
        return is_network(atom.made)
    return isinstance(atom.site, ast.arg) or (isinstance(atom.site, tuple) and atom.site[1] not in _SAME)
