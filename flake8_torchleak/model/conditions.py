"""What conditions are where some variables are known, and what must hold for a statement of a function to run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.values import Kind
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEEPEST = 4
"""Variables that a condition is made of, one of the other."""
_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript)
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
"""Of the comparisons that a constant decides."""
TRAINING = ".training"
"""The attribute of networks that `eval()` and `train()` set."""

HELD = "?"
Setting = dict[str, object]
"""What some variables are: constants, by name; `TRAINING` for the attribute of that name; `HELD` for a condition
that holds, or does not."""


class Guard(NamedTuple):
    """A condition that is asked before something runs, and what it must be for that."""

    test: ast.expr
    holds: bool


def guards_of(module: Module, node: ast.AST, top: ast.AST) -> list[Guard]:
    """What must hold, or not, for something in a function to run: the branches around it, and what leaves before."""
    found: list[Guard] = []
    while node is not top:
        up = module.tree.parents[node]
        if isinstance(up, (ast.If, ast.IfExp)) and node is not up.test:
            body = up.body if isinstance(up.body, list) else [up.body]
            found.append(Guard(up.test, node in body))
        for block in (getattr(up, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                found += _left_before(block[: block.index(node)])
        node = up
    return found


def _left_before(block: list[ast.stmt]) -> Iterator[Guard]:
    """The conditions under which statements above leave the round or the function."""
    for each in block:
        if isinstance(each, ast.If):
            if isinstance(each.body[-1], _LEAVES):
                yield Guard(each.test, False)
            elif each.orelse and isinstance(each.orelse[-1], _LEAVES):
                yield Guard(each.test, True)


def is_left_out(module: Module, guards: list[Guard], setting: Setting) -> bool:
    """Whether one of these conditions is not what it must be."""
    return any(_truth(module, each.test, setting, _DEEPEST) is (not each.holds) for each in guards)


def deciding(module: Module, guard: Guard, setting: Setting) -> str:
    """The part of a condition that a setting decides, as it must be, in words that give True or False."""
    test, holds = guard
    while True:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
            test = next(each for each in test.values if _truth(module, each, setting, _DEEPEST) is (not holds))
        else:
            break
    if isinstance(test, ast.Compare) and not holds:
        opposite = _OPPOSITES[type(test.ops[0])]()
        test, holds = ast.Compare(test.left, [opposite], test.comparators), True
    if not holds:
        return f"not {short(test)}" if isinstance(test, _SIMPLE) else f"not ({short(test)})"
    known = _known(module, test, setting)
    is_bool = isinstance(test, ast.Compare) or (known and isinstance(known[0], bool))
    return short(test) if is_bool else f"bool({short(test)})"


def _truth(module: Module, test: ast.expr, setting: Setting, depth: int) -> bool | None:
    """Whether a condition holds where variables are what a setting says; None if that does not tell."""
    held = setting.get(HELD)
    if isinstance(held, Guard):
        mine = positive(Guard(test, True))
        if _is_same(module, held.test, mine.test):
            return held.holds is mine.holds
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        truth = _truth(module, test.operand, setting, depth)
        return None if truth is None else not truth
    if isinstance(test, ast.BoolOp):
        truths = [_truth(module, each, setting, depth) for each in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in truths else None if None in truths else not decisive
    if isinstance(test, ast.Compare):
        return _compared(module, test, setting)
    known = _known(module, test, setting)
    if known:
        return bool(known[0])
    value = _bound_to(module, test) if depth else None
    return None if value is None else _truth(module, value, setting, depth - 1)


def positive(guard: Guard) -> Guard:
    """The same without `not` and `!=`: of `name != "train"`, which holds, that `name == "train"` does not."""
    test, holds = guard
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.IsNot, ast.NotIn)):
        test, holds = ast.Compare(test.left, [_OPPOSITES[type(test.ops[0])]()], test.comparators), not holds
    return Guard(test, holds)


def _is_same(module: Module, held: ast.expr, test: ast.expr) -> bool:
    """Whether two conditions are written alike, of variables and attributes that nothing sets in between.

    What a call gives may be another thing each time.
    """
    if ast.dump(held) != ast.dump(test) or any(isinstance(each, ast.Call) for each in ast.walk(test)):
        return False
    for one, other in zip(ast.walk(held), ast.walk(test), strict=True):
        if not isinstance(one, (ast.Name, ast.Attribute)):
            continue
        ways = module.flow.reaching(key_of(one), one)
        if ways != module.flow.reaching(key_of(other), other):
            return False
        if isinstance(one, ast.Attribute) and any(module.tree.loops(each.statement) for each in ways):
            return False  # nobody sees what it was before the first round
    return True


def _compared(module: Module, test: ast.Compare, setting: Setting) -> bool | None:
    """`mode == "train"`, `optimizer is not None`, `phase in ("train", "all")`."""
    left, right = _known(module, test.left, setting), _known(module, test.comparators[0], setting)
    operator = test.ops[0]
    if len(test.ops) > 1 or not left:
        return None
    if isinstance(operator, (ast.In, ast.NotIn)):
        values = constants(module, test.comparators[0])
        return (left[0] in values) is isinstance(operator, ast.In) if values else None
    if not right or not isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    return (left[0] == right[0]) is isinstance(operator, (ast.Eq, ast.Is))


def _known(module: Module, node: ast.expr, setting: Setting) -> list[object]:
    """What an expression is, in a list; none if that is not known."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if isinstance(node, ast.Attribute) and f".{node.attr}" == TRAINING:
        is_network = TRAINING in setting and module.infer.value(node.value).kind is Kind.MODULE
        return [setting[TRAINING]] if is_network else []
    if not isinstance(node, ast.Name) or node.id not in setting:
        return []
    ways = module.flow.reaching(node.id, node)
    return [setting[node.id]] if all(each.how in (How.PARAMETER, How.ITERATE) for each in ways) else []


def _bound_to(module: Module, node: ast.expr) -> ast.expr | None:
    """The one value that a variable has."""
    found = module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
    return found[0].value if len(found) == 1 and found[0].is_plain else None


def constants(module: Module, iterable: ast.expr) -> list[object]:
    """The elements of a list or tuple of constants; of a variable, of the one that it is."""
    if isinstance(iterable, ast.Name):
        found = [each for each in module.flow.reaching(iterable.id, iterable) if each.is_plain]
        iterable = found[0].value if len(found) == 1 and found[0].value is not None else iterable
    if not isinstance(iterable, (ast.List, ast.Tuple)):
        return []
    constants: list[object] = [each.value for each in iterable.elts if isinstance(each, ast.Constant)]
    return constants if len(constants) == len(iterable.elts) else []
