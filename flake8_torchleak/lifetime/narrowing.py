"""What a branch knows: of what a variable may be, those alternatives that let the branch's condition hold."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from flake8_torchleak.lifetime.deciding import is_none, is_one_of, names_of
from flake8_torchleak.lifetime.libraries import NO_HISTORY_METHODS
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Atom, Obj, Value
from flake8_torchleak.model.names import last_name

_NUMBERS = frozenset({"float", "int", "bool", "str"})
_TENSOR = frozenset({"Tensor"})


def narrow(run: Run, test: ast.expr, holds: bool) -> list[tuple[dict[Hashable, Value], Hashable, Value]]:
    """Leave of a condition's variable what lets it hold, or not; what was changed, as fields, name and old value."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return narrow(run, test.operand, not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        return [each for inner in test.values for each in narrow(run, inner, holds)]
    asked = _asked(run, test)
    place = _place(run, asked[0]) if asked is not None else None
    if asked is None or place is None:
        return []
    fields, name = place
    old = fields[name]
    left = tuple(atom for atom in old if asked[1](atom) is not (not holds))
    if not left or len(left) == len(old):
        return []
    run.journal.put(fields, name, left)
    return [(fields, name, old)]


@contextmanager
def narrowed(run: Run, test: ast.expr, holds: bool) -> Iterator[None]:
    """The same for one arm of a conditional expression."""
    changed = narrow(run, test, holds)
    now = [fields[name] for fields, name, _ in changed]
    try:
        yield
    finally:
        for (fields, name, old), value in zip(changed, now, strict=True):
            if fields.get(name) is value:
                run.journal.put(fields, name, old)


def _asked(run: Run, test: ast.expr) -> tuple[ast.expr, Callable[[Atom], bool | None]] | None:
    """What a condition asks of which expression."""
    if isinstance(test, ast.Call) and test.args:
        name = last_name(test.func)
        if name == "isinstance" and len(test.args) == 2:
            names = names_of(test.args[1])
            return test.args[0], lambda atom: is_one_of(run, atom, names)
        if name == "is_tensor":
            return test.args[0], lambda atom: is_one_of(run, atom, _TENSOR)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        other = test.comparators[0]
        if isinstance(other, ast.Constant) and other.value is None:
            if isinstance(test.ops[0], ast.Is):
                return test.left, is_none
            return test.left, lambda atom: None if (found := is_none(atom)) is None else not found
    return None


def _place(run: Run, node: ast.expr) -> tuple[dict[Hashable, Value], Hashable] | None:
    """Where the value of a variable, or of an attribute of one object, stands."""
    if isinstance(node, ast.Name):
        fields = run.frame.variables.fields
        return (fields, node.id) if fields.get(node.id) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        base = run.evaluate(node.value)
        made = base[0].made if len(base) == 1 else None
        if isinstance(made, Obj) and made.fields.get(node.attr):
            return made.fields, node.attr
    return None


GIVING_NUMBERS = frozenset({"item", *_NUMBERS})
"""Functions and methods that make a number of a tensor."""


def releasing(node: ast.IfExp) -> tuple[ast.expr, ast.expr] | None:
    """Of the arms of `x.item() if is_tensor(x) else x` the one that releases, and the other one; None if none does.

    Who asks `x` what it is says that it is a number where it is not released.
    """
    for arm, bare in ((node.body, node.orelse), (node.orelse, node.body)):
        inner: ast.expr | None = None
        if isinstance(arm, ast.Call) and isinstance(arm.func, ast.Attribute) and arm.func.attr in NO_HISTORY_METHODS:
            inner = arm.func.value
        elif isinstance(arm, ast.Call) and last_name(arm.func) in _NUMBERS and len(arm.args) == 1:
            inner = arm.args[0]
        if inner is not None and ast.dump(inner) == ast.dump(bare):
            return arm, bare
    return None
