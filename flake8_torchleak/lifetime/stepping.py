"""Which functions of a module may hold a step, or lead to one, by their text: only those are followed."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property
from heapq import heapify, heappop, heappush

from flake8_torchleak.lifetime.nodes import below, of_node, walk
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import hands_over, last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_APART = frozenset({*_LOOPS, *FUNCTIONS, ast.Lambda, ast.ClassDef})
_REPEATING = frozenset({*_LOOPS, ast.comprehension})
_CHANGING = frozenset({ast.Assign, ast.AugAssign, ast.Call})
_ADDING = frozenset({"append", "appendleft", "extend", "add", "update", "setdefault"})
_DIFFERENTIATING = frozenset({"backward", "manual_backward"})
_EVALUATING = frozenset({"eval", "from_pretrained"})
"""Methods that give a network in evaluation mode."""
_PREPARING = frozenset({"eval", "DataLoader"})
_STEPS = hints.STEP_METHODS | hints.STEP_HOOKS
_TRAINING = _DIFFERENTIATING | {"autograd", "grad", "minimize"}
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
        self._uses = {function: _uses(function) for function, _ in self.functions}
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
        calls = [(self._uses[function].read & self._named.keys()) - {function.name} for function, _ in waiting]
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
        return function in self._mattering or function in self._keeping

    def _steps(self, uses: _Uses) -> bool:
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

    def _reached(self, function: FunctionNode, owner: ast.ClassDef | None) -> set[FunctionNode]:
        """The functions that a method may run, by the names that it reads, and those read; itself, too.

        Of a class whose constructor leaves hooks behind: what that reads as well, for the hooks are run by layers.
        """
        found = {function}
        new = set(self._uses[function].read)
        for each in owner.body if owner is not None else ():
            if isinstance(each, FUNCTIONS) and each.name == "__init__" and self._uses[each].hooks:
                new |= self._uses[each].read
        seen: set[str] = set()
        while new:
            name = new.pop()
            seen.add(name)
            for each in self._named.get(name, ()):
                if each not in found:
                    found.add(each)
                    new |= self._uses[each].read - seen
        return found

    @cached_property
    def at_top(self) -> bool:
        """Whether the module's own statements are steps, or call what may hold one."""
        names = {each.name for each in self._mattering}
        names |= {owner.name for function, owner in self.functions if owner is not None and function in self._mattering}
        if self._steps(self._top_uses) or names & self._top_uses.read:
            return True
        if not self.in_vain:
            return False
        if self._top_uses.loops or self._top_uses.comprehends:
            return True
        run = ((function, self._uses[function]) for function in self._program)
        return any(uses.loops or uses.comprehends or self.matters(function) for function, uses in run)

    @cached_property
    def _program(self) -> set[FunctionNode]:
        """The functions that the module's own statements may run, by the names that these and those read."""
        named = self._named
        bodies: dict[str, list[ast.ClassDef]] = {each.name: [] for each in self.classes}
        for each in self.classes:
            bodies[each.name].append(each)
        found: set[FunctionNode] = set()
        seen: set[str] = set()
        new = set(_Uses(ast.Module(_rest(self._root.body), [])).read)
        while new:
            name = new.pop()
            seen.add(name)
            functions = list(named.get(name, ()))
            for each in bodies.get(name, ()):
                functions += [inner for inner in each.body if isinstance(inner, FUNCTIONS)]
                new |= _Uses(ast.Module([*map(ast.Expr, each.bases), *_rest(each.body)], [])).read - seen
            for function in functions:
                if function not in found:
                    found.add(function)
                    new |= self._uses[function].read - seen
        return found

    @cached_property
    def _top_uses(self) -> _Uses:
        rest = [s for s in _top(self._root.body) if not isinstance(s, (*FUNCTIONS, ast.ClassDef, ast.If, ast.Try))]
        return _Uses(ast.Module(rest, []))

    @cached_property
    def _mattering(self) -> set[FunctionNode]:
        return self._leading_to([function for function, uses in self._uses.items() if self._steps(uses)])

    def reading(self, names: frozenset[str]) -> set[FunctionNode]:
        """The functions that read one of these names, and those that read a name of such a function."""
        return self._leading_to([each for each, uses in self._uses.items() if not names.isdisjoint(uses.read)])

    def read_at_top(self, names: frozenset[str]) -> bool:
        """Whether the module's own statements read one of these names."""
        return not names.isdisjoint(self._top_uses.read)

    def _leading_to(self, new: list[FunctionNode]) -> set[FunctionNode]:
        """These functions, and those that may call them, by the names that they read."""
        readers: dict[str, list[FunctionNode]] = {}
        for function, uses in self._uses.items():
            for name in uses.read & self._named.keys():
                readers.setdefault(name, []).append(function)
        found = set(new)
        while new:
            for function in readers.pop(new.pop().name, ()):
                if function not in found:
                    found.add(function)
                    new.append(function)
        return found

    @cached_property
    def _named(self) -> dict[str, list[FunctionNode]]:
        """The functions by their names."""
        found: dict[str, list[FunctionNode]] = {}
        for function in self._uses:
            found.setdefault(function.name, []).append(function)
        return found


class _Uses:
    """What stands in a function: names that it reads, and its loops."""

    def __init__(self, root: FunctionNode | ast.Module) -> None:
        self.name = "" if isinstance(root, ast.Module) else root.name
        self.read: set[str] = set()
        self.loops = False
        """Whether there is a loop that is a statement."""
        self.comprehends = False
        """Whether there is one in an expression."""
        self.over: set[str] = set()
        """What its loops go over, by name."""
        for node in walk(root):
            kind = node.__class__
            if kind is ast.Name:
                self.read.add(node.id)  # type: ignore[attr-defined]
            elif kind is ast.Attribute:
                self.read.add(node.attr)  # type: ignore[attr-defined]
            elif isinstance(node, ast.ImportFrom):  # what it is, under whatever name it is used
                self.read.update(each.name for each in node.names if each.asname is not None)
            elif kind not in _REPEATING:
                continue
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                if kind is ast.comprehension:
                    self.comprehends = True
                else:
                    self.loops = True
                self.over.update(filter(None, map(_named, walk(node.iter))))
            else:
                self.loops = True

    @property
    def hooks(self) -> bool:
        """Whether it may leave hooks behind."""
        return any("hook" in each for each in self.read)

    @property
    def may_step(self) -> bool:
        """Whether it may hold a step, by its own names. Those that only suggest something are asked about each time."""
        if self.name in _STEPS or not _DIFFERENTIATING.isdisjoint(self.read):
            return True
        if not (self.loops or self.comprehends):
            return False
        if not _EVALUATING.isdisjoint(self.read) or "DataLoader" in self.over or any(map(hints.is_loader, self.over)):
            return True
        return "next" in self.read and any(map(hints.is_loader, self.read))


@of_node
def _uses(function: FunctionNode) -> _Uses:
    return _Uses(function)


def _named(node: ast.AST) -> str:
    """What a node is called: a variable, an attribute, an entry by its key; "" if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


@of_node
def _updates(function: ast.stmt) -> bool:
    """Whether a method other than the constructor sets an attribute of its object, or changes what one holds."""
    first = next(iter(function.args.args), None) if isinstance(function, FUNCTIONS) else None
    if first is None or getattr(function, "name", "") == "__init__":
        return False
    changing = [node for node in walk(function) if node.__class__ in _CHANGING]
    return any(_attribute_of(changed, first.arg) for node in changing for changed in _changed(node)) or any(
        isinstance(node, ast.Call) and hands_over(node, first.arg) for node in changing
    )


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
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DIFFERENTIATING:
            return True
        stack += below(node)
    return False


def _rest(body: list[ast.stmt]) -> list[ast.stmt]:
    """What is run of a block as soon as that is: all but the bodies of its functions and classes."""
    found: list[ast.stmt] = []
    for each in body:
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            found += map(ast.Expr, each.decorator_list)
        if isinstance(each, FUNCTIONS):
            found += (ast.Expr(default) for default in (*each.args.defaults, *each.args.kw_defaults) if default)
        elif isinstance(each, ast.ClassDef):
            found += _rest(each.body)
        else:
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
