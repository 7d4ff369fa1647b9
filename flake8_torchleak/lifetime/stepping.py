"""Which functions of a module may hold a step, or lead to one, by their text: only those are followed."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property
from heapq import heapify, heappop, heappush

from flake8_torchleak.lifetime.libraries import NO_HISTORY_METHODS, PLAIN_ATTRIBUTES, READ_ONLY
from flake8_torchleak.lifetime.nodes import below, of_node, walk
from flake8_torchleak.lifetime.reach import Reach
from flake8_torchleak.lifetime.uses import DIFFERENTIATING, Uses, receiver_of
from flake8_torchleak.model.names import hands_over
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_APART = frozenset({*_LOOPS, *FUNCTIONS, ast.Lambda, ast.ClassDef})
_CHANGING = frozenset({ast.Assign, ast.AugAssign, ast.Call})
_ADDING = frozenset({"append", "appendleft", "extend", "add", "update", "setdefault"})
_PLAIN_METHODS = NO_HISTORY_METHODS - {"type"}
"""`type` gives a tensor, with its history, where it is told of which type."""
_PREPARING = frozenset({"eval", "DataLoader"})
"""What prepares a loop, so that it may be one of steps, in whatever function that stands."""
_TRAINING = DIFFERENTIATING | {"autograd", "grad", "minimize"}
"""Names that a text in which nothing is differentiated does not read."""


class Stepping:
    """The functions at the top of a module and the methods of its classes."""

    def __init__(self, root: ast.Module) -> None:
        self._root = root
        self.functions: list[tuple[FunctionNode, ast.ClassDef | None]] = []
        self.classes = [each for each in _top(root.body) if isinstance(each, ast.ClassDef)]
        for statement in _top(root.body):
            if isinstance(statement, FUNCTIONS):
                self.functions.append((statement, None))
            elif isinstance(statement, ast.ClassDef):
                self.functions += [(each, statement) for each in statement.body if isinstance(each, FUNCTIONS)]
        self._reach = Reach(self.functions, self.classes)
        self._uses = self._reach.uses
        self._read = self._top_uses.read.union(*(each.read for each in self._uses.values()))
        self.in_vain = self._read.isdisjoint(_TRAINING)
        """Whether nothing is differentiated, by the text."""

    def callers_first(self) -> list[tuple[FunctionNode, ast.ClassDef | None]]:
        """The functions, each behind those that read its name, as far as these go in no circle: then as they stand.

        What nothing reads comes first, then what only the module's own statements do.
        """
        found = [each for each in self.functions if each[0].name not in self._read]
        waiting = [each for each in self.functions if each[0].name in self._read]
        named: dict[str, list[int]] = {}
        calls = [(self._uses[function].read & self._reach.named.keys()) - {function.name} for function, _ in waiting]
        for at, (function, _) in enumerate(waiting):
            named.setdefault(function.name, []).append(at)
        left = Counter(name for each in calls for name in each)
        ready = [at for name, places in named.items() if not left[name] for at in places]
        heapify(ready)
        done: set[int] = set()
        for first in range(len(waiting)):
            ready += [first] if not ready else []  # all are in circles: the next that stands there
            while ready:
                at = heappop(ready)
                if at in done:
                    continue
                done.add(at)
                found.append(waiting[at])
                for name in calls[at]:
                    left[name] -= 1
                    for each in named[name] if not left[name] else ():
                        heappush(ready, each)
        return found

    def matters(self, function: FunctionNode) -> bool:
        """Whether it may hold a step, calls what may, or is a network's forward pass that may keep something."""
        return self.surely(function) or (function in self._mattering and self._is_prepared(function))

    def surely(self, function: FunctionNode) -> bool:
        """Whether its own names, or those of what it calls, say so."""
        return function in self._surely or function in self._keeping

    def _is_prepared(self, function: FunctionNode) -> bool:
        """Whether what a function may run, its object's constructor or the module itself prepares loops, by names."""
        if not _PREPARING.isdisjoint(self._top_uses.read) or function in self._preparing:
            return True
        return not self._preparing.isdisjoint(_constructors(self._reach.owners[function]))

    @cached_property
    def _preparing(self) -> set[FunctionNode]:
        """The functions that lead to what prepares loops."""
        return self.reading(_PREPARING)

    def _steps(self, uses: Uses) -> bool:
        """Whether there may be a step in what these are the uses of."""
        prepared = not _PREPARING.isdisjoint(self._read)  # in one function, for the loop of another
        return uses.may_step or (prepared and (uses.loops or uses.comprehends))

    @cached_property
    def _keeping(self) -> set[FunctionNode]:
        """The forward passes that reach a method which sets, or adds to, attributes of its object."""
        forward = [each for each in self.functions if each[0].name == "forward" and each[1] is not None]
        return {
            function
            for function, owner in forward
            if owner is not None and any(map(_updates, self._reached(function, owner).intersection(owner.body)))
        }

    def _reached(self, function: FunctionNode, owner: ast.ClassDef) -> set[FunctionNode]:
        """The functions that a method may run, and itself.

        Of a class whose constructor leaves hooks behind: what that may run as well, for the hooks are run by layers.
        """
        hooking = (each for each in _constructors(owner) if self._uses[each].hooks)
        return self._reach.all_below({function}.union(*map(self._reach.below, hooking)))

    @cached_property
    def at_top(self) -> bool:
        """Whether the module's own statements are steps, or call what may hold one."""
        mattering = [each for each in self.functions if self.matters(each[0])]
        names = {function.name for function, _ in mattering}
        names |= {owner.name for _, owner in mattering if owner is not None}
        if self._steps(self._top_uses) or names & self._top_uses.read:
            return True
        if not self.in_vain:
            return False
        if self._top_uses.runs:
            return True
        run = ((function, self._uses[function]) for function in self._program)
        return any(uses.runs or self.matters(function) for function, uses in run)

    @cached_property
    def _program(self) -> set[FunctionNode]:
        """The functions that the module's own statements may run, by the names that these and those read."""
        return self._reach.read_by(Uses(ast.Module(_rest(self._root.body), [])))

    @cached_property
    def _top_uses(self) -> Uses:
        rest = [s for s in _top(self._root.body) if not isinstance(s, (*FUNCTIONS, ast.ClassDef, ast.If, ast.Try))]
        return Uses(ast.Module(rest, []))

    @cached_property
    def _surely(self) -> set[FunctionNode]:
        """The functions that lead to what may hold a step by its own names."""
        return self._reach.all_above([function for function, uses in self._uses.items() if uses.may_step])

    @cached_property
    def _mattering(self) -> set[FunctionNode]:
        return self._reach.all_above([function for function, uses in self._uses.items() if self._steps(uses)])

    def reading(self, names: frozenset[str]) -> set[FunctionNode]:
        """The functions that read one of these names, and those that may run such a function."""
        return self._reach.all_above([each for each, uses in self._uses.items() if not names.isdisjoint(uses.read)])

    def read_at_top(self, names: frozenset[str]) -> bool:
        """Whether the module's own statements read one of these names."""
        return not names.isdisjoint(self._top_uses.read)


def _constructors(owner: ast.ClassDef | None) -> list[FunctionNode]:
    body = owner.body if owner is not None else ()
    return [each for each in body if isinstance(each, FUNCTIONS) and each.name == "__init__"]


@of_node
def _updates(function: ast.stmt) -> bool:
    """Whether a method other than the constructor puts into its object, or into what that holds, more than numbers.

    Or leaves a hook with something.
    """
    first = receiver_of(function) if isinstance(function, FUNCTIONS) else ""
    if not first or getattr(function, "name", "") == "__init__":
        return False
    nodes = list(walk(function))
    changing = [node for node in nodes if node.__class__ in _CHANGING and not _is_plain(_given(node))]
    if any(_attribute_of(changed, first) for node in changing for changed in _changed(node)):
        return True
    if any(isinstance(node, ast.Attribute) and node.attr.startswith("register_") for node in nodes):
        return True
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    # What a variable of its own calls is code that nobody can see.
    return any(hands_over(each, first) and getattr(each.func, "id", "") not in bound for each in calls)


def _given(node: ast.AST) -> list[ast.expr]:
    """What a statement sets something to, or a method is given."""
    if isinstance(node, ast.Call):
        return [*node.args, *(each.value for each in node.keywords)]
    value = getattr(node, "value", None)
    return [value] if value is not None else []


def _is_plain(values: list[ast.expr]) -> bool:
    """Whether expressions have no history for certain: numbers, texts, what was cut off, empty containers of these."""
    stack: list[ast.AST] = list(values)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare)):
            continue
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.IfExp)):
            stack += [each for each in below(node) if each is not None]
        elif isinstance(node, ast.Attribute):
            if node.attr not in PLAIN_ATTRIBUTES:
                return False
        elif isinstance(node, ast.Subscript):
            stack.append(node.value)
        elif not (isinstance(node, ast.Call) and _gives_plain(node.func)):
            return False
    return True


def _gives_plain(called: ast.expr) -> bool:
    """Whether what a call gives has no history: a function of Python's own, a method that tensors have for that."""
    if isinstance(called, ast.Attribute):
        return called.attr in _PLAIN_METHODS
    return isinstance(called, ast.Name) and called.id in READ_ONLY


def _changed(node: ast.AST) -> list[ast.expr]:
    """What a statement sets, or a method adds to."""
    if isinstance(node, ast.Assign):
        return [part for target in node.targets for part in getattr(target, "elts", (target,))]
    if isinstance(node, ast.AugAssign):
        return [node.target]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _ADDING or (name.endswith("_") and not name.endswith("__")):
            return [node.func.value]
    return []


def _attribute_of(node: ast.expr, owner: str) -> bool:
    """Whether an expression is an attribute of a variable, an entry of one, or what a method gives of one."""
    while isinstance(node, (ast.Subscript, ast.Call, ast.Attribute)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id == owner
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


@of_node
def makes_step(function: FunctionNode) -> bool:
    """Whether a function differentiates outside of loops of its own: it is one step of somebody's loop."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if node is None or node.__class__ in _APART:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DIFFERENTIATING:
            return True
        stack += below(node)
    return False


def _rest(body: list[ast.stmt]) -> list[ast.stmt]:
    """What is run of a block as soon as that is: all but the bodies of its functions, and their defaults."""
    found: list[ast.stmt] = []
    for each in body:
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            found += map(ast.Expr, each.decorator_list)
        if isinstance(each, ast.ClassDef):
            found += _rest(each.body)
        elif not isinstance(each, FUNCTIONS):
            found.append(each)
    return found


def _top(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block, with those of the branches in it."""
    found: list[ast.stmt] = []
    stack = body[::-1]
    while stack:
        statement = stack.pop()
        found.append(statement)
        if isinstance(statement, (ast.If, ast.Try)):
            stack += [*statement.body, *statement.orelse][::-1]
    return found
