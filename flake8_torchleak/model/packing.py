"""Whether a Dataset's list can be kept as an array instead, with no other use of it changing its meaning.

A list of strings or numbers can, where all its elements are provably of that one type, it is bound once, and every
use in the file is a subscript, `len` or iteration: an array has no `append`, and `if array:` raises.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import Read, StateFacts, Use
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.containers import Container
    from flake8_torchleak.model.module import Module

_MOST_DEPTH = 8
_SAME_ELEMENTS = frozenset({"sorted", "list", "tuple", "reversed"})
_TEXT_LISTS = frozenset({"glob.glob", "glob.iglob", "os.listdir"})
_TEXTS = frozenset({
    "os.path.join", "os.path.basename", "os.path.abspath", "os.path.normpath", "os.path.dirname", "str",
})  # fmt: skip
_TEXT_METHODS = frozenset({"strip", "rstrip", "lstrip", "lower", "upper", "replace", "format", "join", "removesuffix"})
_LONGEST_RATIO = 10
"""Strings are padded to the longest: known ones that differ more than this would grow, not shrink."""


class NotPackable(Exception):
    """Why a container stays what it is: one line."""


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """How a container becomes an array.

    value: the expression it is bound to, or None if it is filled bit by bit and `statement` is the last that does;
    element: str, int or float; reads: the subscripts that read one element each; iterated: strings are gone through.
    """

    value: ast.expr | None
    statement: ast.stmt
    element: type
    reads: tuple[ast.Subscript, ...]
    iterated: bool


def packing(module: Module, container: Container) -> Packing:
    """How it becomes an array. Raises NotPackable with the reason if it cannot."""
    state = StateFacts(module, container.dataset, container.name.removeprefix("self."))
    if container.value.kind not in (Kind.LIST, Kind.TUPLE):
        raise NotPackable("only lists of strings or numbers fit an array")
    binding = _only_binding(state)
    value, statement, elements = _filled(module, state, binding)
    element = _Elements(module).kind(elements)
    if element is None:
        raise NotPackable("its elements are not proven to be all strings or all numbers")
    reads, iterated = _uses(module, state, statement)
    if iterated and element is not str:
        raise NotPackable("it is iterated over, and NumPy numbers are not Python numbers")
    return Packing(value, statement, element, reads, iterated)


def _only_binding(state: StateFacts) -> Definition:
    bound = state.dataset.facts.attributes.get(f"self.{state.attr}", [])
    if len(bound) != 1 or bound[0].value is None or bound[0].path or bound[0].how is not How.ASSIGN:
        raise NotPackable(f"`self.{state.attr}` is assigned in several places")
    return bound[0]


def _filled(
    module: Module, state: StateFacts, binding: Definition
) -> tuple[ast.expr | None, ast.stmt, list[tuple[str, ast.expr]]]:
    """The bound expression (or None), the statement after which it is complete, and what is in it.

    What is in it: ("list", an expression that gives the whole) or ("one", an element).
    """
    assert binding.value is not None
    changes = state.dataset.facts.mutations.get(f"self.{state.attr}", [])
    own = module.tree.statement(binding.node)
    if not changes:
        return binding.value, own, [("list", binding.value)]
    function = module.tree.function(binding.node)
    elements: list[tuple[str, ast.expr]] = []
    for each in changes:
        if each.method not in ("append", "extend") or each.depth or each.value is None:
            raise NotPackable(f"`self.{state.attr}` is changed in place at line {each.node.lineno}")
        if function is None or module.tree.function(each.node) is not function or function.name != "__init__":
            raise NotPackable(f"`self.{state.attr}` is filled outside of `__init__`")
        elements.append(("one" if each.method == "append" else "list", each.value))
    if not (isinstance(binding.value, ast.List) and not binding.value.elts):
        elements.append(("list", binding.value))
    assert function is not None
    last = max((each.node for each in changes), key=lambda node: node.lineno)
    outer = next(s for s in function.body if module.tree.inside(last, s))
    return None, outer, elements


class _Elements:
    """Proof of what the elements of a list are, by how they are made."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def kind(self, parts: list[tuple[str, ast.expr]]) -> type | None:
        """str, int or float if all elements are provably of that very type."""
        kinds = {self._of_list(value) if how == "list" else self._of(value) for how, value in parts}
        return kinds.pop() if len(kinds) == 1 else None

    def _too_deep(self, node: ast.expr) -> type | None:
        leave_out(self.module, node, f"what is stored goes through more than {_MOST_DEPTH} expressions")
        return None

    def _of_list(self, node: ast.expr, depth: int = _MOST_DEPTH) -> type | None:
        """What every element of a list is."""
        if not depth:
            return self._too_deep(node)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._of(node.elt, depth - 1)
        if self._is_text_file(node):
            return str
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left = self._of_list(node.left, depth - 1)
            return left if left is self._of_list(node.right, depth - 1) else None
        if isinstance(node, ast.Name):
            definitions = self.module.flow.reaching(node.id, node)
            changed = self.module.flow.mutations(self.module.tree.scope(node)).get(node.id)
            if len(definitions) != 1 or changed or definitions[0].path or definitions[0].value is None:
                return None
            plain = definitions[0].how in (How.ASSIGN,)
            return self._of_list(definitions[0].value, depth - 1) if plain else None
        if not isinstance(node, ast.Call):
            return self._of_display(node, depth) if isinstance(node, (ast.List, ast.Tuple)) else None
        qualname = self.module.names.qualname(node.func)
        if qualname in _SAME_ELEMENTS and node.args:
            return self._of_list(node.args[0], depth - 1)
        if qualname in _TEXT_LISTS:
            return str
        if qualname == "range":
            return int
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("splitlines", "split", "readlines"):
            return str if self._is_text_file(node.func.value) else None
        return None

    def _of_display(self, node: ast.List | ast.Tuple, depth: int) -> type | None:
        kinds = {self._of(each, depth - 1) for each in node.elts}
        lengths = [len(e.value) for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        if lengths and max(lengths) > _LONGEST_RATIO * (1 + sum(lengths) / len(lengths)):
            raise NotPackable("its strings differ too much in length")
        return kinds.pop() if len(kinds) == 1 else None

    def _of(self, node: ast.expr, depth: int = _MOST_DEPTH) -> type | None:
        """What one element is."""
        if not depth:
            return self._too_deep(node)
        if isinstance(node, ast.JoinedStr):
            return str
        if isinstance(node, ast.Constant):
            kind = type(node.value)
            return kind if kind in (str, int, float) else None
        if isinstance(node, ast.Name):
            return self._of_name(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = {self._of(node.left, depth - 1), self._of(node.right, depth - 1)}
            return str if str in sides else None
        if isinstance(node, ast.Subscript):
            return self._of_part(node, depth)
        if not isinstance(node, ast.Call):
            return None
        qualname = self.module.names.qualname(node.func)
        if qualname in _TEXTS:
            return str
        if qualname in ("int", "len"):
            return int
        if qualname == "float":
            return float
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
            return self._of(node.func.value, depth - 1)
        return None

    def _of_part(self, node: ast.Subscript, depth: int) -> type | None:
        """`text.split(...)[i]`, `os.path.splitext(path)[0]`, a slice of a text."""
        if isinstance(node.slice, ast.Slice):
            return str if self._of(node.value, depth - 1) is str else None
        if not isinstance(node.value, ast.Call):
            return None
        func = node.value.func
        if self.module.names.qualname(func) in ("os.path.splitext", "os.path.split"):
            return str
        if isinstance(func, ast.Attribute) and func.attr in ("split", "rsplit", "partition", "rpartition"):
            return self._of(func.value, depth - 1)
        return None

    def _of_name(self, node: ast.Name, depth: int) -> type | None:
        generator = self.module.names.comprehension(node)
        if generator is not None:
            plain = isinstance(generator.target, ast.Name)
            return self._of_list(generator.iter, depth - 1) if plain else None
        definitions = self.module.flow.reaching(node.id, node)
        if len(definitions) != 1 or definitions[0].value is None or definitions[0].path:
            return None
        if definitions[0].how is How.ITERATE:
            return self._of_list(definitions[0].value, depth - 1)
        return self._of(definitions[0].value, depth - 1) if definitions[0].how is How.ASSIGN else None

    def _is_text_file(self, node: ast.expr) -> bool:
        """Whether a value is a file opened for text, or what its `read()` gives."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "read":
            node = node.func.value
        if isinstance(node, ast.Name):
            definitions = self.module.flow.reaching(node.id, node)
            values = [d.value for d in definitions if d.value is not None]
            return len(definitions) == 1 and len(values) == 1 and self._is_text_file(values[0])
        if not isinstance(node, ast.Call) or self.module.names.qualname(node.func) != "open":
            return False
        modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
        return all(isinstance(m, ast.Constant) and "b" not in str(m.value) for m in modes)


def _uses(module: Module, state: StateFacts, last: ast.stmt) -> tuple[tuple[ast.Subscript, ...], bool]:
    """The subscripts that read an element, and whether it is iterated over. Raises NotPackable for other uses."""
    reads: list[ast.Subscript] = []
    iterated = False
    seen: set[ast.AST] = set()
    for function in state.dataset.facts.all_functions:
        for read in state.uses_in(function):
            seen.add(read.node)
            if read.use is Use.LENGTH or (read.use is Use.WRITE and module.tree.inside(read.node, last)):
                continue
            parent = module.tree.parents[read.node]
            if read.use is Use.WRITE and isinstance(parent, (ast.Assign, ast.Attribute)):
                continue  # the one binding, and the appends, which were looked at before
            if read.use is Use.ITERATE and not _needs_list(parent):
                iterated = True
            elif read.use is Use.SUBSCRIPT and isinstance(parent, ast.Subscript) and _is_one(read):
                reads.append(parent)
                if function.name == "__init__":
                    raise NotPackable(f"it is read in `__init__` at line {parent.lineno}")
            else:
                raise NotPackable(f"`{state.attr}` is used otherwise at line {getattr(read.node, 'lineno', 0)}")
    for node in module.tree.all(ast.Attribute):
        if node.attr == state.attr and node not in seen and not _is_alias_read(module, node):
            raise NotPackable(f"`.{state.attr}` is used at line {node.lineno}")
    return tuple(reads), iterated


def _is_one(read: Read) -> bool:
    return not isinstance(read.key, (ast.Slice, ast.Tuple))


def _needs_list(parent: ast.AST) -> bool:
    """Functions that go through a list but not through an array in the same way."""
    return isinstance(parent, ast.Call) and last_name(parent.func) in (
        "sample", "shuffle", "choices", "choice", "map", "sum", "cycle", "iter", "dict", "filter",
    )  # fmt: skip


def _is_alias_read(module: Module, node: ast.Attribute) -> bool:
    """`paths = self.paths`: its uses are those of the local variable."""
    parent = module.tree.parents[node]
    return isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name)
