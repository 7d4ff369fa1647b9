"""Whether the statements of a module may put a view of an array anywhere: told before its nodes are indexed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.slices import CREATES, CUTTING, LOADS, SIZED, base_of, cuts_out, under_views
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

_PUTS = frozenset({"append", "appendleft", "add", "insert", "setitem", "setdefault"})
_MAKERS = CREATES | {name.rpartition(".")[2] for name in LOADS}
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
_PLAIN = frozenset({ast.Name, ast.Attribute})
_CUTS = frozenset({ast.Subscript, ast.Call})
_Assigning = ast.Assign | ast.AnnAssign

_loads = "|".join(sorted(name.rpartition(".")[2] for name in LOADS))
_creates = "|".join(sorted(SIZED))
_LOADING = re.compile(rf"(?<!torch)\.(?:{_loads})\(")
"""What loads arrays; what torch loads are states, as a rule."""
_CREATING = re.compile(rf"\b(?:np|numpy|torch)\.(?:random\.)?(?:{_creates})\(")
_KEEPING = re.compile(r"\.(?:append|appendleft|extend|insert|add|setdefault|update)\(|\]\s*=[^=]|\+=")
_SLICED = re.compile(r"[\w)\]]\[[^\[\]\n]*:[^\[\]\n]*\]|[\w)\]]\[-?\w+\]|\.(?:narrow|select)\(")
"""An index that may cut a part out of an array, and methods that do."""
_LOOPING = re.compile(r"\b(?:for|while)\b")
_NEEDED = (_KEEPING, _SLICED, _LOOPING)


def may_cut(root: ast.Module, text: str) -> bool:
    """Whether a module may keep parts of arrays by a longer way, which is a note: it makes some in a loop, and cuts.

    What is loaded may be cut anywhere; what is created, most of which stays whole, is asked for where it is.
    """
    if not all(each.search(text) for each in _NEEDED):
        return False
    return _LOADING.search(text) is not None or (_CREATING.search(text) is not None and _Cuts(root).found)


class _Cuts:
    """What functions cut out of arrays that they, or functions of the file, create."""

    def __init__(self, root: ast.Module) -> None:
        functions = [each for each in ast.walk(root) if isinstance(each, FUNCTIONS)]
        self._givers, self._cutters = set[str](), set[str]()  # asked for while they are sought
        self._givers = {each.name for each in functions if self._gives(each)}
        self._cutters = {each.name for each in functions if self._cuts(each, {arg.arg for arg in parameters(each)})}
        self.found = any(self._cuts(each, self._made(each)) for each in (*functions, root))

    def _makes(self, value: ast.expr | None) -> bool:
        """Whether something is made in an expression."""
        return value is not None and any(
            isinstance(each, ast.Call) and last_name(each.func) in SIZED | self._givers for each in ast.walk(value)
        )

    def _made(self, scope: ast.AST) -> set[str]:
        """The variables that are bound to arrays."""
        return {
            name
            for each in _own(scope)
            if isinstance(each, (ast.Assign, ast.AnnAssign)) and self._makes(each.value)
            for name in _bound(each)
        }

    def _gives(self, function: FunctionNode) -> bool:
        made = self._made(function)
        given = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
        return any(self._makes(each) or (isinstance(each, ast.Name) and each.id in made) for each in given)

    def _cuts(self, scope: ast.AST, names: set[str]) -> bool:
        """Whether a part is cut out of one of these variables, or out of what is made there."""
        for each in _own(scope):
            if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load):
                if _is_of(each.value, names) or (isinstance(each.value, ast.Call) and self._makes(each.value)):
                    return True
            elif isinstance(each, ast.Call):
                if isinstance(each.func, ast.Attribute) and each.func.attr in CUTTING:
                    if _is_of(each.func.value, names):
                        return True
                elif last_name(each.func) in self._cutters and any(
                    _is_of(one, names) or self._makes(one) for one in each.args
                ):
                    return True
        return False


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, or of a module without those of its functions."""
    stack: list[ast.AST] = [scope]
    while stack:
        node = stack.pop()
        yield node
        below = ast.iter_child_nodes(node)
        stack += below if not isinstance(scope, ast.Module) else [e for e in below if not isinstance(e, FUNCTIONS)]


def _is_of(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def may_find_views(outline: Outline) -> bool:
    """Whether a module may keep views of arrays that it makes."""
    return may_keep_views(outline) or (outline.notes and may_cut(outline.root, outline.text))


def may_keep_views(outline: Outline) -> bool:
    """Whether a part of a variable that can be a base is put anywhere: what `kept_views` of `views.py` looks into.

    From what is rarest to what is commonest: what is put, cuts that are bound to such a variable, and their bases.
    """
    put = _put(outline)
    variables = {name for name in map(_viewed, put) if name}
    bases = {name for name in map(_cut_from, put) if name}
    assigning: list[_Assigning] = [*outline.all(ast.Assign), *outline.all(ast.AnnAssign)]
    if variables:
        cuts = (each for each in assigning if each.value.__class__ in _CUTS and not variables.isdisjoint(_bound(each)))
        bases |= {name for each in cuts if (name := _cut_from(each.value))}
    if not bases:
        return False
    by_helper = any(_makes_array(each.value) for each in outline.all(ast.Return))
    made = (each for each in assigning if _makes_array(each.value) or (by_helper and each.value.__class__ is ast.Call))
    return any(not bases.isdisjoint(_bound(each)) for each in made)


def _put(outline: Outline) -> list[ast.expr]:
    """What may be put into containers: by calls that are a statement (or its value), by subscripts and by `+=`."""
    # Every statement of a file comes by here: classes are compared, which is faster than `isinstance`.
    plain, call_class = _PLAIN, ast.Call
    values: list[ast.expr | None] = [each.value for each in outline.all(ast.Expr)]
    values += [each.value for each in outline.all(ast.Return)]
    found: list[ast.expr] = []
    for assign in outline.all(ast.Assign):
        values.append(assign.value)
        for target in assign.targets:
            if target.__class__ not in plain and any(isinstance(part, ast.Subscript) for part in _targets(assign)):
                found.append(assign.value)
    for call in values:
        if call.__class__ is call_class:
            assert isinstance(call, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS:
                found += call.args[-1:] or [each.value for each in call.keywords[:1]]
    for each in outline.all(ast.Expr):
        if each.value.__class__ is call_class:
            assert isinstance(each.value, ast.Call)
            spreads = last_name(each.value.func) in ("extend", "update")
            # Of a helper, or of a bound method with a name; `extend` takes the elements of what stands there.
            found += [one for one in each.value.args if not spreads or isinstance(one, _DISPLAYS)]
    found += [each.value for each in outline.all(ast.AugAssign)]
    for value in found:  # it grows as it is gone through
        if isinstance(value, (ast.List, ast.Tuple)):
            found += value.elts
        elif isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            found.append(value.elt)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            found += value.args  # of a record
    if any(isinstance(value, ast.Call) and isinstance(value.func, ast.Name) for value in found):
        found += [each.value for each in outline.all(ast.Return) if each.value is not None]  # of a helper
    return found


def _bound(statement: _Assigning) -> Sequence[str]:
    """The variables that an assignment binds."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return (target.id,)
    return [part.id for part in _targets(statement) if isinstance(part, ast.Name)]


def _targets(statement: _Assigning) -> Iterator[ast.expr]:
    """What an assignment binds, parts of tuples one by one."""
    stack = list(statement.targets) if isinstance(statement, ast.Assign) else [statement.target]
    for each in stack:  # it grows as it is gone through
        if isinstance(each, (ast.Tuple, ast.List)):
            stack += each.elts
        else:
            yield each


def _makes_array(value: ast.expr | None) -> bool:
    """Whether a call, or one of several in a tuple, makes or loads an array, or runs a model, by its name."""
    if value.__class__ is not ast.Call:
        return isinstance(value, ast.Tuple) and any(_makes_array(each) for each in value.elts)
    made = last_name(value.func)
    return made in _MAKERS or hints.is_model(made)


def _viewed(value: ast.expr) -> str:
    """The variable whose view (or all of which) an expression is, "" for anything else."""
    return getattr(under_views(value), "id", "")


def _cut_from(value: ast.expr | None) -> str:
    """The variable out of which an expression cuts a part, "" for anything else."""
    cut = under_views(value) if value is not None else None
    if not isinstance(cut, ast.Subscript) or not cuts_out(cut.slice):
        return ""
    return getattr(base_of(cut), "id", "")
