"""What a branch left, recalled where its condition is asked again: `if keep: kept = []` ... `if keep: kept.append(x)`.

Behind a branch a variable is what either way left of it. Where the same condition is asked once more, of the same
values, the way that is taken is the one that was taken: it is what that one left.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from flake8_torchleak.lifetime.journal import Changes, Fields
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import Obj, Value

_POSITIVE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}
_PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Tuple, ast.List, ast.Set)
"""What a condition is made of that gives the same whenever it is asked of the same values."""
_SWITCHED = frozenset({"training"})
"""Attributes that methods set."""
_MOST_CHANGES = 24
"""Variables, and then fields, that a branch sets, as far as they are remembered."""
_MOST_SINCE = 400
"""Changes that are looked at for what the condition asks."""

_Condition = tuple[str, bool]
"""In words, and whether it holds."""


@dataclass(frozen=True, slots=True)
class _Left:
    """A variable behind a branch. met: what it is; held, failed: what it was at the end of either way."""

    fields: Fields
    name: Hashable
    met: Value
    held: Value
    failed: Value


class Recalling(Part):
    """Remembers what the ways of branches left, one by one."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._known: dict[tuple[int, str], tuple[int, list[_Left]]] = {}
        """By whose variables, and the condition: when it was asked last, and what was left then."""

    def is_asked_again(self, test: ast.expr) -> bool:
        """Whether a condition stands more than once in its function, and may be the same each time."""
        frame = self.run.frame
        around = frame.function.node if frame.function is not None else frame.place.root
        return around is not None and bool(_repeated(around) & _asks(test))

    def remember(self, test: ast.expr, before: Changes, held: Changes, failed: Changes) -> None:
        """Two ways met. before: what was there of all that either of them has set."""
        own = self.run.frame.variables.fields
        changed = sorted(before.items(), key=lambda each: each[1][0] is not own)[:_MOST_CHANGES]
        left = [
            _Left(fields, name, self._met(fields, name, old), _at(held, key, old), _at(failed, key, old))
            for key, (fields, name, old) in changed
        ]
        run = self.run
        for word, holds in _conditions(test, True):
            turned = left if holds else [_Left(e.fields, e.name, e.met, e.failed, e.held) for e in left]
            self._known[id(run.frame.variables), word] = run.journal.mark, turned

    def _met(self, fields: Fields, name: Hashable, old: Value) -> Value:
        """What a variable is now: what it was, where the ways only told its alternatives apart."""
        met = fields.get(name, ())
        if met is not old and len(met) == len(old) and set(met) == set(old):
            self.run.journal.put(fields, name, old)
            return old
        return met

    def recall(self, test: ast.expr, holds: bool) -> None:
        """A way is taken in which a condition holds, or does not."""
        run = self.run
        for word, is_so in _conditions(test, holds):
            mark, left = self._known.get((id(run.frame.variables), word), (0, ()))
            if not left or self._is_another(test, mark):
                continue
            for each in left:
                value = each.held if is_so else each.failed
                if each.fields.get(each.name) is each.met and value is not each.met:
                    run.journal.put(each.fields, each.name, value)

    def _is_another(self, test: ast.expr, mark: int) -> bool:
        """Whether something that a condition asks may have been set since then."""
        run = self.run
        if run.journal.mark - mark > _MOST_SINCE:
            return True
        asked = set(self._places(test))
        return any((id(fields), name) in asked for fields, name, _ in run.journal.since(mark))

    def _places(self, test: ast.expr) -> Iterator[tuple[int, Hashable]]:
        variables = self.run.frame.variables.fields
        for node in walk(test):
            if isinstance(node, ast.Name):
                yield id(variables), node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                for atom in variables.get(node.value.id, ()):
                    made = atom.made if isinstance(atom.made, Obj) else self.run.open.get((atom.site, atom.born))
                    if made is not None:
                        yield id(made.fields), node.attr


def _at(changes: Changes, key: tuple[int, Hashable], old: Value) -> Value:
    return changes[key][2] if key in changes else old


def _conditions(test: ast.expr, holds: bool) -> list[_Condition]:
    """What is known of conditions where one holds, or does not: of its parts, too."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _conditions(test.operand, not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        return [each for inner in test.values for each in _conditions(inner, holds)]
    word, is_positive = _word(test)
    return [(word, holds is is_positive)] if word else []


@of_node
def _word(test: ast.expr) -> tuple[str, bool]:
    """A condition in words, the same for its opposite, and whether it is no opposite; "" for what may change."""
    if not all(isinstance(each, _PLAIN) and _is_still(each) for each in walk(test)):
        return "", True
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _POSITIVE:
        opposite = ast.Compare(test.left, [_POSITIVE[type(test.ops[0])]()], test.comparators)
        return ast.dump(opposite), False
    return ast.dump(test), True


def _is_still(node: ast.AST) -> bool:
    return not isinstance(node, ast.Attribute) or (isinstance(node.value, ast.Name) and node.attr not in _SWITCHED)


@of_node
def _asks(test: ast.expr) -> frozenset[str]:
    return frozenset(word for holds in (True, False) for word, _ in _conditions(test, holds))


@of_node
def _repeated(function: ast.AST) -> frozenset[str]:
    """The conditions that branches of a function ask more than once."""
    asked: Counter[str] = Counter()
    for node in walk(function):
        if isinstance(node, ast.If):
            asked.update(_asks(node.test))
    return frozenset(word for word, count in asked.items() if count > 1)
