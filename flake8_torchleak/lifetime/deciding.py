"""What conditions tell: that they hold for certain, or only a bounded number of times in a loop."""

from __future__ import annotations

import ast
import math

from flake8_torchleak.lifetime.frames import Loop
from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import ANYTHING, Atom, Graph, Kind, Mark, Obj, Value, constant, objects, varies
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.names import last_name

_FEW = 100
"""Iterations that make little of what is kept in each: graphs that were freed, or what is looked at."""
_FIRSTS: dict[tuple[int, type[ast.cmpop]], bool] = {
    (0, ast.Eq): True, (0, ast.NotEq): False, (0, ast.Gt): False, (0, ast.LtE): True, (1, ast.Lt): True,
    (1, ast.GtE): False,
}  # fmt: skip
"""Comparisons of a counter with a number: whether they hold in the first iteration, and in no other."""
_PLAIN = frozenset({"float", "int", "bool", "str", "bytes", "complex", "Number", "Real", "Integral"})
"""Classes of what has no history."""
_ONE_NUMBER = {"dim": 0, "ndim": 0, "ndimension": 0, "numel": 1, "nelement": 1}
"""What tensors of one number answer."""
_CONTAINERS = frozenset({"list", "dict", "tuple", "set"})


def decided(run: Run, test: ast.expr) -> bool | None:
    """Whether a condition holds for certain; None if that depends. What it calls is called."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = decided(run, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        found = [decided(run, each) for each in test.values]
        stop = isinstance(test.op, ast.Or)
        if stop in found:
            return stop
        return None if None in found else not stop
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(run, test)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 2:
        if test.func.id == "isinstance":
            run.told = True
            return _is_instance(run, run.evaluate(test.args[0]), test.args[1])
        if test.func.id == "hasattr":
            return _has(run.evaluate(test.args[0]), constant(run.evaluate(test.args[1])))
    if isinstance(test, ast.Call) and len(test.args) == 1 and last_name(test.func) == "is_tensor":
        return _is_instance(run, run.evaluate(test.args[0]), ast.Name("Tensor", ast.Load()))
    if isinstance(test, ast.Attribute) and test.attr == "requires_grad":
        value = run.evaluate(test.value)
        return True if value and all(atom.graph is Graph.YES for atom in value) else None
    value = run.evaluate(test)
    first = _is_first(run, value)
    if first is not None:
        return not first
    known = constant(value)
    return bool(known) if known is not Mark.ANY else None


def _compared(run: Run, test: ast.Compare) -> bool | None:
    left, right = run.evaluate(test.left), run.evaluate(test.comparators[0])
    op = test.ops[0]
    if isinstance(op, (ast.Eq, ast.NotEq)) and constant(right) == _ONE_NUMBER.get(_asked(test.left), -1):
        return isinstance(op, ast.Eq)  # whether a tensor is a single number is asked where losses are logged, which are
    if isinstance(op, (ast.Is, ast.IsNot)):
        if constant(right) is None and left:
            are = [is_none(atom) for atom in left]
            if all(each is True for each in are):
                return isinstance(op, ast.Is)
            if all(each is False for each in are):
                return isinstance(op, ast.IsNot)
        return None
    one, other = constant(left), constant(right)
    if other in (0, 1) and other.__class__ is int:
        first = _is_first(run, left) if (other, op.__class__) in _FIRSTS else None
        if first is not None:
            return first is _FIRSTS[other, op.__class__]
    if one is Mark.ANY or other is Mark.ANY:
        return None
    if isinstance(op, ast.Eq):
        return one == other
    if isinstance(op, ast.NotEq):
        return one != other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        if isinstance(op, ast.Gt):
            return one > other
        if isinstance(op, ast.Lt):
            return one < other
    return None


def _asked(node: ast.expr) -> str:
    """The method by which a tensor is asked about its size, or `ndim`; "" for others: `config.dim` is a number."""
    if isinstance(node, ast.Call) and not node.args and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return "ndim" if isinstance(node, ast.Attribute) and node.attr == "ndim" else ""


def _is_first(run: Run, value: Value) -> bool | None:
    """Whether a counter is that of its loop's first iteration; None if a value is no counter.

    A loop of which this is asked is gone through once more, as the other iterations are.
    """
    if len(value) == 1 and value[0].made is Mark.COUNT:
        for loop in reversed(run.loops):
            if loop.ident in value[0].vary:
                loop.unfinished = loop.counted = run.told = True
                return not loop.last
    return None


def is_none(atom: Atom) -> bool | None:
    """Whether something is None; None if that is not known."""
    if atom.graph is Graph.YES and not isinstance(atom.site, tuple):
        return False  # made of tensors; only a part of such a thing may be None
    if atom.kind is Kind.NUMBER:
        return None if atom.made is Mark.ANY else atom.made is None
    return None if atom.kind is Kind.UNKNOWN else False


def _is_instance(run: Run, value: Value, classes: ast.expr) -> bool | None:
    names = names_of(classes)
    found = {is_one_of(run, atom, names) for atom in value}
    return found.pop() if len(found) == 1 else None


@of_node
def names_of(classes: ast.expr) -> frozenset[str]:
    """The names of what `isinstance` is asked about, without the modules before them."""
    nodes = list(ast.walk(classes))
    modules = {each.value for each in nodes if isinstance(each, ast.Attribute)}
    return frozenset(last_name(each) for each in nodes if isinstance(each, ast.expr) and each not in modules) - {""}


def is_one_of(run: Run, atom: Atom, names: frozenset[str]) -> bool | None:
    """Whether something is an object of one of these classes; None if that is not known."""
    made = atom.made
    if atom.graph is Graph.YES and names <= _PLAIN:
        return False
    if atom.kind is Kind.TENSOR:
        return "Tensor" in names
    if atom.kind is Kind.UNKNOWN and atom.graph is Graph.YES and atom.site in run.seen.proven:
        return "Tensor" in names  # it is differentiated
    if atom.kind is Kind.UNKNOWN and "Tensor" in names:
        return True  # what is no tensor keeps nothing
    if isinstance(made, Obj):
        if isinstance(made.cls, ClassInfo):
            return any(each.name in names for each in made.cls.order) or None
        if made.kind in _CONTAINERS:
            return made.kind in names or bool(names & {"Mapping", "Sequence", "Iterable"}) or False
    return None


def _has(value: Value, name: object) -> bool | None:
    if (
        value
        and all(atom.kind in (Kind.TENSOR, Kind.UNKNOWN) for atom in value)
        and name in ("detach", "item", "cpu", "requires_grad")
    ):
        return True
    return None


def limits(run: Run, test: ast.expr, holds: bool) -> frozenset[int]:
    """The loops in which a branch is taken a bounded number of times: `if i == 0`, `if len(kept) < 5`."""
    found: frozenset[int] = frozenset()
    for each in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
        if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not):
            found |= limits(run, each.operand, not holds)
        elif isinstance(each, ast.Compare) and len(each.ops) == 1:
            found |= _limited(run, each, each.ops[0], holds)
    return found


def _limited(run: Run, test: ast.Compare, op: ast.cmpop, holds: bool) -> frozenset[int]:
    left, right = test.left, test.comparators[0]
    if isinstance(op, (ast.Gt, ast.GtE)) and holds:
        left, right = right, left
    elif isinstance(op, (ast.Lt, ast.LtE)) and not holds:
        left, right = right, left
    elif isinstance(op, (ast.Lt, ast.LtE)) or (isinstance(op, (ast.Gt, ast.GtE)) and not holds):
        pass
    elif not (isinstance(op, ast.Eq) and holds):
        return frozenset()
    counted = _counted(left)
    if counted is not None:
        return frozenset(loop.ident for loop in run.loops) - varies(run.evaluate(counted))
    if isinstance(left, (ast.Name, ast.Attribute, ast.Subscript)):
        value = run.evaluate(left)
        if value is not ANYTHING and all(atom.kind is Kind.NUMBER for atom in value):
            again = {loop.ident for loop in run.loops if any(_starts_anew(atom, loop) for atom in value)}
            return varies(value) - varies(run.evaluate(right)) - again
    return frozenset()


def _starts_anew(atom: Atom, loop: Loop) -> bool:
    """Whether a number is set in a loop, to what does not count: a counter that this may be counts no iterations."""
    return not atom.vary and atom.born >= loop.start


def _counted(node: ast.expr) -> ast.expr | None:
    """What `len` is asked of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
        return node.args[0]
    return None


def filled(run: Run, test: ast.expr) -> list[Obj]:
    """What `while len(queue) < count:` fills, and never further than that, whoever empties it."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found: list[Obj] = []
    for each in parts:
        if isinstance(each, ast.Compare) and len(each.ops) == 1:
            less = each.left if isinstance(each.ops[0], (ast.Lt, ast.LtE, ast.NotEq)) else each.comparators[0]
            counted = _counted(less)
            found += objects(run.evaluate(counted)) if counted is not None else []
    return found


def ends_at(run: Run, test: ast.expr, holds: bool, loop: Loop) -> ast.expr | None:
    """The number of iterations after which a condition holds: `if i >= count: break`. None: it counts none.

    Of a container that is asked for its length, the container: it is let grow so far, and no further.
    """
    if isinstance(loop.node, ast.While):
        return None  # that is how it ends, however long it is
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ends_at(run, test.operand, not holds, loop)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right, op = test.left, test.comparators[0], test.ops[0]
    if isinstance(op, (ast.Lt, ast.LtE)) is holds:
        left, right = right, left
    counted = _counted(left)
    if counted is not None:
        return counted if loop.ident not in varies(run.evaluate(counted)) else None  # not the length of a batch
    if isinstance(op, (ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)) or not isinstance(
        left, (ast.Name, ast.Attribute)
    ):
        return None
    value = run.evaluate(left)
    plain = all(atom.kind is Kind.NUMBER for atom in value)
    return right if plain and loop.ident in varies(value) and loop.ident not in varies(run.evaluate(right)) else None


def is_few(run: Run, count: ast.expr) -> bool:
    """Whether a number of iterations is known to be small: the largest that it may be, as far as the program shows."""
    return _most(run, count) <= _FEW or bool(objects(run.evaluate(count)))


def _most(run: Run, count: ast.expr) -> float:
    """The largest that a number may be; infinity if that is not known."""
    if isinstance(count, ast.BinOp) and isinstance(count.op, (ast.Add, ast.Mult)):
        left, right = _most(run, count.left), _most(run, count.right)
        return left + right if isinstance(count.op, ast.Add) else left * right
    if isinstance(count, ast.BinOp) and isinstance(count.op, (ast.Sub, ast.FloorDiv, ast.Div, ast.Mod)):
        return _most(run, count.left)  # of counts, which are no less than one
    if isinstance(count, ast.IfExp):
        return max(_most(run, count.body), _most(run, count.orelse))
    if isinstance(count, ast.Call) and isinstance(count.func, ast.Name) and count.args:
        of = [_most(run, each) for each in count.args]
        if count.func.id in ("min", "max", "int", "round", "abs"):
            return min(of) if count.func.id == "min" else max(of)
    found = [constant((atom,)) for atom in run.evaluate(count)]
    known = [each for each in found if isinstance(each, (int, float))]
    return max(known) if known and len(known) == len(found) else math.inf
