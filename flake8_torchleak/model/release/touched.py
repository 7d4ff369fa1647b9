"""What statements and calls edit in place, through whatever views of it: arrays, tensors, containers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.bindings import EDITING_METHODS, is_in_place
from flake8_torchleak.model.changed import ARRAY_EDITS, DRAWS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_ARRAYS = ARRAY_EDITS | {"setfield", "setflags", "byteswap"}
_CONTENT = frozenset({"data", "real", "imag", "flat", "shape", "dtype", "strides", "T", "mT", "H", "mH"})
"""Attributes of arrays and tensors that share their memory or say how it is read: to set one is an edit."""
_FIRST = frozenset({
    "numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.fill_diagonal", "numpy.put_along_axis",
    "numpy.random.shuffle", "random.shuffle", "heapq.heappush", "heapq.heappop", "heapq.heapify", "heapq.heapreplace",
    "bisect.insort", "bisect.insort_left", "bisect.insort_right", "operator.setitem", "operator.delitem",
})  # fmt: skip
"""Functions that edit their first argument, beside those that draw, `at` of a ufunc, and names that end in `_`."""
_OPERATORS = frozenset({
    "__setitem__", "__delitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__",
    "__ipow__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__imatmul__", "iadd", "isub", "imul",
    "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift", "imatmul", "iconcat",
})  # fmt: skip
"""Statements by the names of their methods, and of the functions of `operator`."""
_TYPES = frozenset({"list", "dict", "set", "collections.deque", "numpy.ndarray", "torch.Tensor"})
"""Types whose methods may be called as functions: `list.append(x, 1)`."""
_LIBRARIES = ("torch.", "numpy.", "operator.")
"""Whose functions say by their name, or by `inplace`, that they edit their first argument."""
_DRAWN = DRAWS | {"floodFill"}


class Touch(NamedTuple):
    """A place that edits `target` in place, which may be an array (or a tensor), or a container and no array."""

    node: ast.AST
    target: ast.expr
    array: bool

    @property
    def parts(self) -> Iterator[ast.expr]:
        """The expressions whose memory the target may be: all but those of its indexes, which are only read."""
        return (each for each, _ in self._walk())

    @property
    def names(self) -> Iterator[tuple[ast.Name, bool]]:
        """The variables whose memory the target may be, and whether it is theirs or that of an attribute of theirs.

        `x[i]`, `x.data` and `x.view(-1)` are the memory of `x`; `m.weight.data` is that of an attribute of `m`.
        """
        return ((each, own) for each, own in self._walk() if isinstance(each, ast.Name))

    def _walk(self) -> Iterator[tuple[ast.expr, bool]]:
        queue = [(self.target, True)]
        while queue:
            each, own = queue.pop()
            yield each, own
            inner: Iterable[ast.AST] = ast.iter_child_nodes(each)
            if isinstance(each, ast.Subscript):
                inner = [each.value]
            elif isinstance(each, ast.Attribute):
                inner, own = [each.value], own and each.attr in _CONTENT
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                inner = [each.func.value, *each.args, *(keyword.value for keyword in each.keywords)]
            queue += ((part, own) for part in inner if isinstance(part, ast.expr))


class Touches:
    """The edits of one module, by scope."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @remembered
    def within(self, scope: Scope) -> tuple[Touch, ...]:
        """The places of a scope that edit something in place, in source order."""
        found: list[Touch] = []
        for node in self.module.tree.within(scope):
            if isinstance(node, ast.Call):
                found += self._of_call(node)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.AsyncFor)):
                targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
                found += (each for target in targets for each in _stored(node, target))
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                found += _stored(node.optional_vars, node.optional_vars)
        return tuple(found)

    def _of_call(self, call: ast.Call) -> Iterator[Touch]:
        for keyword in call.keywords:
            if keyword.arg == "out":
                yield Touch(call, keyword.value, array=True)
        qualname = self.module.names.qualname(call.func)
        name = last_name(call.func)
        in_place = is_in_place(name) or name in _OPERATORS
        typed = qualname.rpartition(".")[0] in _TYPES and name in EDITING_METHODS
        draws = name in _DRAWN and qualname.startswith("cv2.")
        asked = any(k.arg == "inplace" and not _is_false(k.value) for k in call.keywords)
        at = name == "at" and qualname.startswith("numpy.")  # of any ufunc: `np.add.at(x, i, 1)`
        of_library = qualname.startswith(_LIBRARIES) and (in_place or asked or at)
        if call.args and (qualname in _FIRST or of_library or typed or draws):
            yield Touch(call, call.args[0], array=True)
        elif isinstance(call.func, ast.Attribute) and (in_place or asked or name in EDITING_METHODS):
            yield Touch(call, call.func.value, array=in_place or name in _OF_ARRAYS)

    @remembered
    def edits_arguments(self, function: FunctionNode, surely: bool) -> bool:
        """Whether a function of the project may edit what it is handed; `surely` tells what counts, see `edits`.

        Whoever is handed something and calls other functions is taken to edit it where one of those edits anything.
        """
        reached, queue = {function}, [function]
        while queue:
            each = queue.pop()
            handed = {arg.arg for arg in ast.walk(each.args) if isinstance(arg, ast.arg)}
            touched = (name for touch in self.within(each) for name in touch.names)
            if any(name.id in handed and (own or surely) for name, own in touched):
                return True
            for call in self.module.tree.calls(each):
                callee = self._callee(call)
                if callee is not None and callee not in reached:
                    reached.add(callee)
                    queue.append(callee)
        return False

    @remembered
    def hands_to_editor(self, scope: Scope, surely: bool) -> bool:
        """Whether a scope calls a function of the project that edits what it is handed."""
        return any(self.edits(call, surely) for call in self.module.tree.calls(scope))

    def edits(self, call: ast.Call, surely: bool) -> bool:
        """Whether a call runs a function of the project that edits what it is handed.

        surely: what is handed over is what must not be edited, so that its attributes count, too. Where that is a
        guess they do not: `def init(m): m.weight.data.fill_(0)` edits a module.
        """
        callee = self._callee(call)
        return callee is not None and self.edits_arguments(callee, surely)

    def _callee(self, call: ast.Call) -> FunctionNode | None:
        """The function that a call runs; one of another file is asked for, whatever its name says."""
        found = self.module.classes.callee(call) or self.module.names.definition(call.func, True)
        return found if isinstance(found, FUNCTIONS) else None


def _stored(node: ast.AST, target: ast.expr) -> Iterator[Touch]:
    """What is edited where a statement writes to `target`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _stored(node, each)
    elif isinstance(target, ast.Starred):
        yield from _stored(node, target.value)
    elif isinstance(target, ast.Subscript):
        # An array has no entries with names: `x["a"] = 1` edits a dict; but `x["a"] += 1` perhaps an array in it.
        text = isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)
        yield Touch(node, target.value, array=not text or isinstance(node, ast.AugAssign))
    elif isinstance(node, ast.AugAssign):
        yield Touch(node, target, array=True)
    elif isinstance(target, ast.Attribute) and target.attr in _CONTENT:
        yield Touch(node, target.value, array=True)


def _is_false(node: ast.expr) -> bool:
    """Whether an expression is the word False."""
    return isinstance(node, ast.Constant) and node.value is False
