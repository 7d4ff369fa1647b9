"""The outline of a module: its statements, found in one walk that leaves their expressions alone.

It costs a tenth of indexing every node (`model/tree.py`): the gate and the rules' own looks at statements read it
to tell whether that is worth while.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import TypeVar

from flake8_torchleak.model import hints
from flake8_torchleak.model.index import holds
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.prospect import TRAINING
from flake8_torchleak.model.rounds import Round, iterables
from flake8_torchleak.model.tree import FunctionNode, Loop

Scope = ast.Module | FunctionNode
S = TypeVar("S", bound=ast.AST)

_RENAMED = re.compile(r"DataLoader(?:[ \t]+(as)\b|[ \t]*$)", re.MULTILINE)
"""`import DataLoader as x`, and what may be `x = DataLoader`."""
_LOADER = re.compile(r"oader\w*(?![\w.]| import)")
"""The end of a name that may be a loader's, but for modules."""
_FOR, _IN = re.compile(r"\bfor\b"), re.compile(r"\bin\b")


class Outline:
    """The statements of a module by kind, with its handlers and cases, and what scopes and loops hold them.

    notes: whether somebody wants notes of what is found in it.
    """

    def __init__(self, root: ast.Module, text: str, notes: bool = True) -> None:
        self.root, self.text, self.notes = root, text, notes
        self.loops: dict[Scope, list[Loop]] = {}
        """The loops of each function, and of the module, that has any; not those of functions inside it."""
        self._kinds: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        stack: list[tuple[list[ast.AST], Scope]] = [(root.body, root)]  # type: ignore[list-item]
        kinds = self._kinds
        while stack:
            block, scope = stack.pop()
            for node in block:
                kind = node.__class__
                kinds[kind].append(node)
                blocks = _BLOCKS.get(kind)
                if blocks is None:
                    continue
                if kind in _LOOPS:
                    self.loops.setdefault(scope, []).append(node)  # type: ignore[arg-type]
                inner: Scope = node if kind in _FUNCTIONS else scope  # type: ignore[assignment]
                for name in blocks:
                    stack.append((getattr(node, name), inner))

    def all(self, kind: type[S]) -> list[S]:
        """Every statement of a kind, in no order."""
        return self._kinds.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def functions(self) -> list[FunctionNode]:
        """Every function and method, in no order."""
        return [*self.all(ast.FunctionDef), *self.all(ast.AsyncFunctionDef)]

    @cached_property
    def names(self) -> frozenset[str]:
        """What functions and methods are called."""
        return frozenset(each.name for each in self.functions)

    def looping(self, names: set[str]) -> set[str]:
        """Those of the names that functions with a loop, or a comprehension, have."""
        found = {each.name for each in self.loops if not isinstance(each, ast.Module)}
        found |= {each.name for each in self.functions if each.name in names and has_comprehension(each)}
        return names & found

    @cached_property
    def packages(self) -> set[str]:
        """The packages that are imported."""
        found = {alias.name.partition(".")[0] for each in self.all(ast.Import) for alias in each.names}
        from_them = (each.module for each in self.all(ast.ImportFrom) if not each.level and each.module)
        return found | {name.partition(".")[0] for name in from_them}

    @cached_property
    def may_train(self) -> bool:
        """Whether `backward` is called, not only defined."""
        return any(word in self.text for word in TRAINING)

    @cached_property
    def may_comprehend(self) -> bool:
        """Whether a comprehension may go over a loader."""
        return "oader" in self.text and any(map(_comprehends, self.text.split("\n")))

    @cached_property
    def may_step(self) -> bool:
        """Whether a loop may go over batches, or a function be one step of a framework's loop."""
        if self.may_train or not self.names.isdisjoint(hints.STEP_METHODS | hints.STEP_HOOKS):
            return True
        if self.may_comprehend:
            return True
        if "DataLoader(" in self.text:
            return bool(self.loops) or " for " in self.text  # whatever the loader is called where it is gone over
        if any(map(has_comprehension, self.evaluating)) or self.may_run_in_vain:
            return True
        if not self.loops:
            return False
        if self._steps_in_evaluation:
            return True
        if "next(" in self.text and any(hints.is_loader(f"l{each}") for each in _LOADER.findall(self.text)):
            return True
        return self.goes_over_loader

    @cached_property
    def goes_over_loader(self) -> bool:
        """Whether a loop goes over what is a loader by its name."""
        return any(map(_names_loader, chain.from_iterable(self.loops.values()))) or self._renames_loader

    @cached_property
    def _renames_loader(self) -> bool:
        """Whether DataLoader gets another name, under which a loop may go over one."""
        for found in _RENAMED.finditer(self.text):
            line = self.text[self.text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if found[1] or ("=" in line and "import" not in line):
                return True
        return False

    @cached_property
    def may_run_in_vain(self) -> bool:
        """Whether this is a program that makes networks and goes through a loop, and nothing is differentiated."""
        if "nn." not in self.text or not any(map(self._runs, self.root.body)):
            return False
        return any(getattr(each, "name", "") not in ("__init__", "forward") for each in self.loops)

    def _runs(self, statement: ast.stmt) -> bool:
        """Whether a statement at the top of the module is a program's: a loop, a call, a branch with one."""
        if isinstance(statement, ast.If):
            return any(isinstance(n, ast.Call) for s in (*statement.body, *statement.orelse) for n in ast.walk(s))
        value = getattr(statement, "value", None)
        if statement.__class__ is ast.Assign and isinstance(value, ast.Call):
            called = next((each for each in ast.walk(value.func) if isinstance(each, ast.Name)), None)
            return called is not None and called.id in self._defined
        return isinstance(value, ast.Call) or statement.__class__ in _RUNNING

    @cached_property
    def _defined(self) -> set[str]:
        return {*self.names, *(each.name for each in self.all(ast.ClassDef))}

    @cached_property
    def may_evaluate_beside(self) -> bool:
        """Whether there is training, and a loop over data for evaluation that no switch of the mode may stand by."""
        loops = (each for loops in self.loops.values() for each in loops)
        return self.may_train and any(map(is_over_evaluation_data, loops))

    @cached_property
    def may_train_by_turns(self) -> bool:
        """Whether something is differentiated in a branch, or behind one that leaves where a variable says so.

        Itself, or by calling a function that does.
        """
        lines = sorted(number for word in TRAINING for number in lines_of(self.text, word))
        helpers = {f"{each.name}(" for each in self.functions if lines and _is_on(each, lines)}
        lines = sorted({*lines, *(number for word in helpers for number in lines_of(self.text, word))})
        return bool(lines) and any(_is_on(each, lines) or _leaves(each) for each in self.all(ast.If))

    @cached_property
    def may_evaluate(self) -> bool:
        """Whether a function puts a model in evaluation mode, and there is a loop for it: that may be another one's."""
        return bool(self.evaluating) and (bool(self.loops) or has_comprehension(self.root))

    @property
    def _steps_in_evaluation(self) -> bool:
        """Whether a function with a loop puts a model in evaluation mode, or one that calls it, or makes objects."""
        if not self.evaluating.isdisjoint(self.loops):
            return True
        looping = {getattr(each, "name", "") for each in self.loops}
        return bool(looping) and any(
            getattr(each, "name", "__init__") == "__init__" or not looping.isdisjoint(map(last_name, _called(each)))
            for each in self.evaluating
        )

    @cached_property
    def evaluating(self) -> set[Scope]:
        """The functions (or the module) that put a model in evaluation mode."""
        # No expression is looked into on other lines than those that may do so.
        lines = sorted(number for word in (".eval(", ".train(") for number in lines_of(self.text, word))
        found: set[Scope] = set()
        stack: list[tuple[ast.AST, Scope]] = [(each, self.root) for each in self.root.body] if lines else []
        while stack:
            node, scope = stack.pop()
            if not _is_on(node, lines):
                continue
            if scope not in found and _switches(node):
                found.add(scope)
            inner: Scope = node if node.__class__ in _FUNCTIONS else scope  # type: ignore[assignment]
            for name in _BLOCKS.get(node.__class__, ()):
                stack += [(each, inner) for each in getattr(node, name)]
        return found


def _names_loader(loop: Loop) -> bool:
    """Whether what a loop goes over (or tests) names a loader."""
    stack: list[ast.AST] = [loop.test if isinstance(loop, ast.While) else loop.iter]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is ast.Name or kind is ast.Attribute:
            name: str = node.id if kind is ast.Name else node.attr  # type: ignore[attr-defined]
            if hints.is_loader(name):
                return True
        if kind is ast.Constant and isinstance(node.value, str) and hints.is_loader(node.value):  # type: ignore[attr-defined]
            return True
        if kind is not ast.Name and kind is not ast.Constant:
            stack += ast.iter_child_nodes(node)
    return False


def is_over_evaluation_data(loop: Round) -> bool:
    """Whether what a loop goes over is named as data for evaluation: `enumerate(val_loader)`, `loaders["test"]`."""
    for node in (each for over in iterables(loop) for each in ast.walk(over)):
        name = node.value if isinstance(node, ast.Constant) else last_name(node)
        if isinstance(name, str) and hints.is_evaluation(name):
            return True
    return False


def _called(scope: Scope) -> Iterator[ast.expr]:
    return (each.func for each in ast.walk(scope) if isinstance(each, ast.Call))


def statements_of(function: FunctionNode) -> list[ast.AST]:
    """The statements of a function, with handlers and cases, functions and classes inside it looked into."""
    found: list[ast.AST] = list(function.body)
    for node in found:  # it grows as it is gone through
        for name in _BLOCKS.get(node.__class__, ()):
            found += getattr(node, name)
    return found


def lines_of(text: str, word: str) -> Iterator[int]:
    """The numbers of the lines in which a word stands, as `ast` counts lines."""
    place = text.find(word)
    if place >= 0 and "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        place = text.find(word)
    number, counted = 1, 0
    while place >= 0:
        number += text.count("\n", counted, place)
        counted = place
        yield number
        place = text.find(word, place + 1)


def _comprehends(line: str) -> bool:
    """Whether a line may hold a comprehension over a loader: `... for ... in ...oader`, with something before it.

    By three searches: one pattern for all takes cubic time, and lines of generated modules have 100,000 characters.
    """
    last = line.rfind("oader")
    if last < 0:
        return False
    for found in _FOR.finditer(line, 0, last):
        if line[line.rfind("#", 0, found.start()) + 1 : found.start()].strip():
            goes_over = _IN.search(line, found.end())
            return goes_over is not None and goes_over.end() <= last
    return False


def has_comprehension(scope: Scope) -> bool:
    """Whether a comprehension stands somewhere in a function, or in the module."""
    return holds(scope, ast.comprehension)


def _is_on(statement: ast.AST, lines: list[int]) -> bool:
    """Whether a statement (or handler, or case) stands on one of these lines, or may."""
    heads: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = getattr(heads[0] if heads else statement, "lineno", 0)
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= getattr(statement, "end_lineno", lines[place])


def _leaves(branch: ast.If) -> bool:
    """`if not train: ... return`, `if phase == "val": ... continue`."""
    test = branch.test.operand if isinstance(branch.test, ast.UnaryOp) else branch.test
    asked = test.left if isinstance(test, ast.Compare) else test
    return isinstance(branch.body[-1], (ast.Return, ast.Continue)) and isinstance(asked, (ast.Name, ast.Attribute))


def _switches(statement: ast.AST) -> bool:
    """Whether `.eval()` or `.train(False)` stands in a statement itself, not in its blocks."""
    stack = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "eval" and not node.args or name == "train" and node.args:
                return True
        stack += [each for each in ast.iter_child_nodes(node) if not isinstance(each, _BELOW)]
    return False


_RUNNING = frozenset({ast.For, ast.While, ast.With})
_LOOPS = frozenset({ast.For, ast.AsyncFor, ast.While})
_BELOW = (ast.stmt, ast.ExceptHandler, ast.match_case)
_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys(
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.AsyncWith, ast.ExceptHandler), ("body",)
    ),
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.While, ast.If), ("body", "orelse")),
    ast.Try: ("body", "handlers", "orelse", "finalbody"),
    ast.Match: ("cases",),
    ast.match_case: ("body",),
}
_BLOCKS[getattr(ast, "TryStar", ast.Try)] = _BLOCKS[ast.Try]  # since Python 3.11
