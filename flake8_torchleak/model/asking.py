"""Whether a number that a program uses is 0 wherever it may come from: defaults, arguments, options and settings.

For the number of a loader's workers: `num_workers=args.workers` has none where the option's default is 0, and no
call, script or settings file of the project gives another number. What is not understood may be any number, and so may
what nothing sets. Each answer is True, False, or None for what adds nothing: it leads back to where it was asked from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from flake8_torchleak.model.names import defaults, last_name, parameters
from flake8_torchleak.model.program import Part, Program
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

_SETS = frozenset({"setattr", "setdefault", "getattr", "get", "pop", "getint"})
"""Calls that give a name, and then the value that it gets or has by default."""
_TYPES = frozenset({"int", "Optional"})


class Asking:
    """Questions to one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._names: dict[str, bool | None] = {}
        self._parameters: dict[tuple[FunctionNode, str], bool | None] = {}

    def is_zero(self, part: Part, node: ast.expr | None) -> bool | None:
        """Whether an expression can be nothing but 0."""
        if isinstance(node, ast.Constant):
            return node.value in (0, "0")
        if isinstance(node, ast.Name):
            return self._is_zero_name(part, node)
        if isinstance(node, ast.Attribute):
            return self.is_zero_everywhere(node.attr)
        if isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return self.is_zero_everywhere(key) if isinstance(key, str) else False
        if isinstance(node, ast.IfExp):
            return _all(self.is_zero(part, each) for each in (node.body, node.orelse))
        if isinstance(node, ast.BoolOp):
            return _all(self.is_zero(part, each) for each in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.is_zero(part, node.left) or self.is_zero(part, node.right)
        return self._is_zero_call(part, node) if isinstance(node, ast.Call) else False

    def is_shown(self, node: ast.expr) -> bool:
        """Whether a number above 0 stands there, or where a name gets its value: a constant, or an option's default."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int) and node.value > 0
        name = node.attr if isinstance(node, ast.Attribute) else ""
        users = self.program.holding(name) if name else ()
        values = [value for user in users for value in self._settings(user, name)]
        given = [each.value for each in values if isinstance(each, ast.Constant)]
        return bool(given) and all(isinstance(each, int) and each > 0 for each in given)

    def _is_zero_call(self, part: Part, call: ast.Call) -> bool | None:
        """`int(x)`, `getattr(opt, "workers", 0)`, `settings.get("workers", 0)`."""
        if last_name(call.func) == "int" and len(call.args) == 1:
            return self.is_zero(part, call.args[0])
        for key, after in zip_longest(call.args, call.args[1:]):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and last_name(call.func) in _SETS:
                default = [] if after is None else [self.is_zero(part, after)]
                return _all([*default, self.is_zero_everywhere(key.value)])
        return False

    def _is_zero_name(self, part: Part, node: ast.Name) -> bool | None:
        for scope in part.scopes(node):
            bound = _bound(part, scope, node.id)
            given = any(each.arg == node.id for each in parameters(scope))
            if given or bound:
                found = [self.is_zero(part, each) for each in bound]
                return _all([*found, self.is_zero_parameter(part, scope, node.id)] if given else found)
        bound = _bound(part, part.root, node.id)
        if not bound and node.id in part.imported:
            return self.is_zero_everywhere(part.imported[node.id].rpartition(".")[2])
        return _all(self.is_zero(part, each) for each in bound)

    # -- What a function is given ---------------------------------------------------------------------------------

    def is_zero_parameter(self, part: Part, function: FunctionNode, name: str) -> bool | None:
        """Whether a parameter is 0 by default, and no call of the project gives it anything else."""
        key = function, name
        if key not in self._parameters:
            self._parameters[key] = None  # while it is asked
            self._parameters[key] = _all(self._given(part, function, name))
        return self._parameters[key]

    def _given(self, part: Part, function: FunctionNode, name: str) -> Iterator[bool | None]:
        """For what a parameter has by default and is given in each call, whether it is 0."""
        asked = next(each for each in parameters(function) if each.arg == name)
        if asked in (function.args.vararg, function.args.kwarg):
            yield False
        default = defaults(function).get(asked)
        if default is not None:
            yield self.is_zero(part, default)
        if function.decorator_list:
            yield self.is_zero_everywhere(name)  # it may be an option
        placed = [*function.args.posonlyargs, *function.args.args]
        place = placed.index(asked) if asked in placed else None
        owner = part.tree.class_of(function)
        if place is not None and owner is not None:
            place -= 1
        for called in self._called(owner, function):
            for user in self.program.holding(called):
                for call in user.tree.all(ast.Call):
                    if called in (user.name(call.func), *map(user.name, call.args)):
                        yield from self._in_call(user, call, name, place)

    def _called(self, owner: ast.ClassDef | None, function: FunctionNode) -> list[str]:
        """The names by which a function is called: a constructor by those of its class and of what derives from it."""
        if owner is None or function.name != "__init__":
            return [function.name]
        found = [owner.name]
        for name in found:
            for user in self.program.holding(name):
                for each in user.tree.all(ast.ClassDef):
                    if any(user.name(base) == name for base in each.bases) and each.name not in found:
                        found.append(each.name)
        return [*found, "__init__"] if len(found) > 1 else found

    def _in_call(self, part: Part, call: ast.Call, name: str, place: int | None) -> Iterator[bool | None]:
        """For what a call, or one that is handed the function, gives to a parameter, whether it is 0."""
        for each in call.keywords:
            if each.arg == name:
                yield self.is_zero(part, each.value)
            if each.arg is None:
                yield self.is_zero_everywhere(name)  # of what is unpacked, the key stands where it is set
        if place is not None:
            if any(isinstance(each, ast.Starred) for each in call.args[: place + 1]):
                yield False
            elif len(call.args) > place:
                yield self.is_zero(part, call.args[place])

    # -- What a name may be anywhere ------------------------------------------------------------------------------

    def is_zero_everywhere(self, name: str) -> bool | None:
        """Whether nothing but 0 is set under a name: as an attribute, a key, an option, in settings and scripts."""
        if name not in self._names:
            self._names[name] = None  # while it is asked
            self._names[name] = _all(self._set(name))
        return self._names[name]

    def _set(self, name: str) -> Iterator[bool | None]:
        words = {name, name.replace("_", "-")}
        parts = {part.path: part for word in sorted(words) for part in self.program.holding(word)}
        for part in parts.values():
            for value in self._settings(part, name):
                yield self.is_zero(part, value)
        yield from self._set_beside(name)

    def _settings(self, part: Part, name: str) -> Iterator[ast.expr | None]:
        """What a file sets under a name; None for what is not understood."""
        tree = part.tree
        for each in tree.all(ast.Attribute, ast.Name, ast.Subscript):
            if isinstance(each.ctx, ast.Load) or not _is_named(each, name):
                continue
            if isinstance(each, ast.Name) and tree.function(each) is not None:
                continue  # a variable: what becomes of it is told where it is handed on
            yield _assigned(tree.parents[each])
        for display in tree.all(ast.Dict):
            for key, value in zip(display.keys, display.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value
        for call in tree.all(ast.Call):
            yield from self._set_by(part, call, name)
        for row in tree.all(ast.List, ast.Tuple):
            for before, value in zip(row.elts, row.elts[1:], strict=False):
                word = before.value if isinstance(before, ast.Constant) else None
                if _is_option(word, name) or (_is_key(word, name) and not _is_text(value)):
                    yield value

    def _set_by(self, part: Part, call: ast.Call, name: str) -> Iterator[ast.expr | None]:
        """What a call sets under a name, unless it is told by what becomes of its parameter."""
        options = [each.value for each in call.args if isinstance(each, ast.Constant)]
        given = {each.arg: each.value for each in call.keywords}
        if any(_is_option(each, name) for each in options) or getattr(given.get("dest"), "value", None) == name:
            yield given.get("default")
            return
        if last_name(call.func) in _SETS:
            for each, value in zip(call.args, call.args[1:], strict=False):
                if isinstance(each, ast.Constant) and each.value == name:
                    yield value
        if name in given and not last_name(call.func).endswith("DataLoader"):
            if not self._has_parameter(part.name(call.func), name):
                yield given[name]

    def _has_parameter(self, called: str, name: str) -> bool:
        """Whether what is called is the project's own, and its parameter tells what becomes of an argument."""
        owners = (each for _, owner in self.program.lineage(called) for each in owner.body)
        starts = [each for each in owners if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        functions = [*starts, *(each for _, each in self.program.functions(called))]
        return bool(functions) and all(any(each.arg == name for each in parameters(function)) for function in functions)

    def _set_beside(self, name: str) -> Iterator[bool | None]:
        """For what settings, scripts and notebooks give a name, whether it is 0."""
        flag = "[-_]".join(map(re.escape, re.split("[-_]", name)))
        sets = re.compile(rf"(?<![\w-]){flag}\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?([\w.${{<-]*)")
        asks = re.compile(rf"--{flag}[ \t=]+\\?[\"']?([\w.${{<-]*)")
        for text in self.program.beside.values():
            for value in (*sets.findall(text), *asks.findall(text)):
                yield self._is_zero_text(value)

    def _is_zero_text(self, value: str) -> bool | None:
        if value.isdigit():
            return int(value) == 0
        name = value.lstrip("${").rpartition(".")[2]
        return self.is_zero_everywhere(name) if name.isidentifier() and name not in _TYPES else False


def _all(answers: Iterable[bool | None]) -> bool | None:
    """False if one is, else True if one is; None of those that add nothing."""
    found: bool | None = None
    for each in answers:
        if each is False:
            return False
        found = found or each
    return found


def _bound(part: Part, scope: ast.AST, name: str) -> list[ast.expr | None]:
    """What a scope's own statements bind a name to; None for what is no plain assignment."""
    found: list[ast.expr | None] = []
    for each in part.tree.below(scope, ast.Name):
        function = part.tree.function(each)
        if each.id == name and isinstance(each.ctx, ast.Store) and (function or part.root) is scope:
            found.append(_assigned(part.tree.parents[each]))
    return found


def _assigned(up: ast.AST) -> ast.expr | None:
    return up.value if isinstance(up, (ast.Assign, ast.AnnAssign)) else None


def _is_named(node: ast.Attribute | ast.Name | ast.Subscript, name: str) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == name
    return last_name(node) == name


def _is_option(value: object, name: str) -> bool:
    """Whether a text is an option's flag: `--num-workers`."""
    return isinstance(value, str) and value.startswith("-") and value.lstrip("-").replace("-", "_") == name


def _is_key(value: object, name: str) -> bool:
    """Whether a text is a name in a row of names and values: `["DATA.NUM_WORKERS", 4]`."""
    return isinstance(value, str) and value.rpartition(".")[2] == name


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
