"""Which networks need gradients: what is frozen records no graph, until it, or a part of it, is trained again."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.heap import DEEPEST
from flake8_torchleak.lifetime.identity import inside, is_below, key_of, learns, whole_of
from flake8_torchleak.lifetime.journal import Certain, Fields
from flake8_torchleak.lifetime.libraries import PARAMETERS
from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import Atom, Graph, Kind, Obj, Value, constant, join, number
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.lifetime.frames import Loop
    from flake8_torchleak.lifetime.run import Run

_TRAINED: Value = number(True)
_EITHER: Value = (*number(True), *number(False))
_UNTOLD: Value = number(None)
_ONLY_TRAINED, _ONLY_FROZEN = frozenset({True}), frozenset({False})
_THROUGH = frozenset({"list", "tuple", "enumerate", "dict", "chain", "reversed", "tqdm"})
"""What gives each parameter that it is handed."""


class _Table(Certain):
    """What was told last, by network: what nothing was told of needs gradients, on whatever way one came here."""

    def get(self, key: Hashable, default: object = None, /) -> Value:
        return super().get(key) or _TRAINED


class Needing(Part):
    """Keeps account of what is frozen, network by network: two objects of one class are two."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.table = _Table()
        self._said: Fields = {}
        """What an iteration over parameters told the one that it is at."""
        self._wholes: dict[Hashable, tuple[Atom, int]] = {}
        """Each network in one -> this one, and how many conditions are around where all are gone over."""
        self._owners: dict[Hashable, Value] = {}
        """Parameters -> the network that was asked for them, or each of those that a loop goes over."""
        self._asked: dict[ast.expr, tuple[int, Value]] = {}
        """What asks for parameters -> when, and of which networks, the last time."""

    # -- what is told ------------------------------------------------------------------------------------------

    def turn(self, base: Value, needs: Value) -> None:
        """Networks are told whether their parameters need gradients: each alternative may be the one."""
        networks = [atom for atom in base if learns(atom) or atom.kind is Kind.UNKNOWN]
        certain = len(networks) == 1 or all(atom.vary for atom in networks)
        for atom in networks:
            whole, around = self._wholes.get(key_of(atom), (atom, 0))
            if around == len(self.run.tests):
                atom = whole
            self._set(atom, needs if _is_known(needs) else _EITHER, certain)

    def each_of(self, each: Atom, whole: Atom) -> None:
        """One network stands for all in another one, and for itself."""
        self._wholes[key_of(each)] = whole, len(self.run.tests)

    def _set(self, atom: Atom, needs: Value, certain: bool, depth: int = DEEPEST) -> None:
        key = key_of(atom)
        told = needs if certain else join([self._inherited(key), needs])
        born = self.run.tick()
        told = tuple(each.but(born=born) for each in told)
        for each in (key, *self._below(key)):
            self.run.journal.put(self.table, each, told)
        if isinstance(atom.made, Obj) and depth:
            for part in inside(self.run, atom.made):
                if learns(part):
                    self._set(part, needs, certain, depth - 1)

    def replaced(self, base: Value, part: Hashable, value: Value) -> None:
        """A part of a network that is not followed inside is replaced: `model.fc = nn.Linear(8, 2)`."""
        needs = [number(each) for atom in value if learns(atom) for each in self.of(atom)]
        for atom in [each for each in base if not isinstance(each.made, Obj)] if needs else ():
            self.run.journal.put(self.table, ((atom.site, part), atom.born), join(needs))

    def joined(self, new: Atom, parts: list[Value]) -> None:
        """A network is made of others: `nn.Sequential(*net.children())`."""
        needs = [self.of(atom) for value in parts for atom, _ in self.run.within(value) if learns(atom)]
        if needs and _ONLY_TRAINED not in needs:
            made = tuple(each for found in frozenset().union(*needs) for each in number(found))
            self.run.journal.put(self.table, key_of(new), made)

    def copied(self, atom: Atom, new: Atom) -> None:
        """A network is copied: from now on there are two."""
        old, key = key_of(atom), key_of(new)
        put, table = self.run.journal.put, self.table
        if self._inherited(old) != _TRAINED:
            put(table, key, self._inherited(old))
        for each in self._below(old) if not isinstance(atom.made, Obj) else ():
            assert isinstance(each, tuple)
            put(table, (each[0], new.born), table.get(each))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is told meanwhile is forgotten then: who follows a function on its own shows nothing about others."""
        before = dict(self.table)
        with self.run.modes.alone():
            yield
        self.table.clear()
        self.table.update(before)

    # -- one parameter after the other -------------------------------------------------------------------------

    def parameters(self, node: ast.expr, owner: Value) -> Value:
        """A parameter of a network, as its `parameters()` gives it."""
        leaf = self.run.make.tensor((node, "leaf"), Graph.LEAF)
        run, now = self.run, owner[:1]
        asked, before = self._asked.get(node, (0, ()))
        around = run.loops[-1] if run.loops else None
        if around is not None and asked > around.iteration and all(around.ident in a.vary for a in before + now):
            now = before + now  # of the networks that a loop goes over, one after the other
        self._asked[node] = run.clock, now
        self._owners[key_of(leaf[0])] = now
        return leaf

    def told(self, base: Value, needs: Value) -> None:
        """`p.requires_grad = needs`: of a parameter that is one of many, or of one alone."""
        for atom in base:
            key = key_of(atom)
            if self._said.get(key):
                self.run.journal.put(self._said, key, needs if _is_known(needs) else _EITHER)
            elif key in self._owners and constant(needs) is True:
                self.turn(self._owners[key], needs)

    def gone_over(self, value: Value, node: ast.expr) -> list[Hashable]:
        """The parameters of which an iterable gives all, one after the other."""
        if not self._owners or not _gives_all(node):
            return []
        return [key for atom, _ in self.run.within(value) if (key := key_of(atom)) in self._owners]

    def begin(self, parameters: Iterable[Hashable]) -> None:
        """An iteration over parameters begins."""
        for key in parameters:
            self.run.journal.put(self._said, key, _UNTOLD)

    def end(self, parameters: Iterable[Hashable], loop: Loop) -> dict[Hashable, frozenset[object]]:
        """What an iteration over parameters told them, on any way through it."""
        found: dict[Hashable, frozenset[object]] = {}
        for key in parameters:
            place = id(self._said), key
            ways = [self._said[key], *(each[place][2] if place in each else _UNTOLD for each in loop.continues)]
            found[key] = frozenset(atom.made for way in ways for atom in way)
            self.run.journal.put(self._said, key, ())
        return found

    def all_told(self, said: dict[Hashable, frozenset[object]]) -> None:
        """All parameters were told the same, or some of them: then these alone are trained again, or frozen."""
        for key, each in said.items():
            owner = self._owners[key]
            if each == _ONLY_FROZEN:
                self.turn(owner, number(False))
            elif None not in each and len(each) > 1:
                self.turn(owner, _EITHER)
            elif True in each:
                self.turn(owner, _TRAINED)

    # -- what is asked -----------------------------------------------------------------------------------------

    def is_frozen(self, atom: Atom) -> bool:
        """Whether no part of a network needs gradients."""
        return bool(self.table) and self.of(atom) == _ONLY_FROZEN

    def may_be_frozen(self, atom: Atom) -> bool:
        """Whether on some way to here no part of it does."""
        return bool(self.table) and False in self.of(atom)

    def of(self, atom: Atom, depth: int = DEEPEST) -> frozenset[object]:
        """Whether a network needs gradients: True, False, or both where nobody knows."""
        own = self._constants(key_of(atom))
        if isinstance(atom.made, Obj):
            parts = self._parts_of(atom.made, own, depth)
        else:
            parts = [own, *(frozenset(each.made for each in self.table.get(key)) for key in self._below(key_of(atom)))]
        if _ONLY_TRAINED in parts:
            return _ONLY_TRAINED
        return frozenset().union(*parts)

    def _parts_of(self, made: Obj, own: frozenset[object], depth: int) -> list[frozenset[object]]:
        since = max((each.born for each in self.table.get(made)), default=0)
        held = inside(self.run, made) if depth else []
        parts = [self.of(each, depth - 1) for each in held if learns(each)]
        parts += [own if each.born <= since else _ONLY_TRAINED for each in held if each.graph is Graph.LEAF]
        return parts or [own]

    def _constants(self, key: Hashable) -> frozenset[object]:
        return frozenset(each.made for each in self._inherited(key))

    def _inherited(self, key: Hashable) -> Value:
        """What a network was told, or else what it is a part of."""
        while key not in self.table and (whole := whole_of(key)) is not None:
            key = whole
        return self.table.get(key)

    def _below(self, key: Hashable) -> list[Hashable]:
        """The parts of a network that something was told on their own."""
        return [each for each in self.table if each != key and is_below(each, key)]


def _is_known(needs: Value) -> bool:
    return bool(needs) and all(each.kind is Kind.NUMBER and isinstance(each.made, bool) for each in needs)


@of_node
def _gives_all(node: ast.expr) -> bool:
    """Whether what a loop goes over is all parameters of networks, not a slice or a choice of them."""
    if isinstance(node, ast.Name):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    if name in PARAMETERS:
        return True
    if name in ("items", "values") and isinstance(node.func, ast.Attribute):
        return isinstance(node.func.value, ast.Call) and _gives_all(node.func.value)
    return (
        name in _THROUGH
        and bool(node.args)
        and all(isinstance(each, ast.Call) and _gives_all(each) for each in node.args)
    )
