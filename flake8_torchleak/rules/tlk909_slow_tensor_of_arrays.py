"""slow-tensor-of-arrays: a tensor is made from a list of NumPy arrays, number by number.

Leaks
-----
    images = [np.load(path) for path in paths]
    batch = torch.tensor(images)

Instead
-------
    images = [np.load(path) for path in paths]
    batch = torch.from_numpy(np.stack(images))

Why
---
torch reads a list of arrays as nested sequences: every number becomes a Python object first. It is slow, in a collate
function or `__getitem__` for every batch, and no leak: what was told of memory lost that way does not happen with
torch 2.13. torch itself warns once ("extremely slow").

Measured
--------
64 float32 arrays of 3 x 64 x 64: `torch.tensor(list)`, `torch.as_tensor(list)` and `torch.FloatTensor(list)` 500 to
560 ms, `torch.tensor(np.stack(list))` 0.7 ms, `torch.from_numpy(np.stack(list))` 0.1 ms. For a list of NumPy numbers it
is the other way round: 8 and 21 ms for 10,000.

When it stays silent
--------------------
The elements are not seen to be arrays: numbers, NumPy scalars, what a helper of another file gives, `.numpy()` of a
tensor that may hold one number.

How to fix it
-------------
`np.stack(...)` around the list, inside the call, which keeps its dtype and device. Unsafe: an empty list raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import is_long, short

_TENSORS = frozenset({
    "torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor",
    "torch.DoubleTensor", "torch.IntTensor", "torch.ByteTensor", "torch.BoolTensor", "torch.HalfTensor",
})  # fmt: skip
_ARRAYS = frozenset({
    "array", "ascontiguousarray", "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "stack", "concatenate",
    "vstack", "hstack", "load", "transpose", "moveaxis", "expand_dims", "pad", "arange", "linspace", "eye", "flip",
    "fliplr", "flipud", "tile", "repeat", "imread", "resize", "cvtColor", "imdecode", "randn", "rand",
})  # fmt: skip
_METHODS = frozenset({"astype", "transpose", "copy", "reshape", "flatten", "ravel"})
_MOST_DEPTH = 6


@rule(
    "TLK909",
    "slow-tensor-of-arrays",
    fix=FixLevel.UNSAFE,
    severity=Severity.NOTE,
    subject=Subject.TORCH,
    words=("torch.tensor(", "torch.as_tensor(", "torch.asarray(", "Tensor("),
)
def check(module: Module) -> Iterator[Report]:
    for call in module.tree.all(ast.Call):
        if call.args and module.names.qualname(call.func) in _TENSORS:
            element = next(_elements(module, call.args[0]), None)
            if element is not None:
                listed = "..." if is_long(call.args[0]) else short(call.args[0])
                yield Report(
                    call,
                    f"slow: `{short(call.func)}` reads the arrays of `{short(call.args[0])}` number by number; "
                    f"wrap the list: `np.stack({listed})`",
                    notes=((element, "an array"),),
                    target=call.args[0],
                )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`np.stack(...)` around the list."""
    assert isinstance(report.target, ast.expr)
    stack, imported = build.reference("numpy.stack", report.target)
    yield Fix(
        FixLevel.UNSAFE,
        f"stack the list first (`{stack}(...)`)",
        (*imported, *build.wrapped(report.target, f"{stack}(", ")")),
    )


def _elements(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a list that are arrays, if all that the file shows of it are."""
    found: list[ast.expr] = []
    if isinstance(node, ast.ListComp):
        found = [node.elt]
    elif isinstance(node, ast.List):
        found = list(node.elts)
    elif isinstance(node, ast.Name):
        scope = module.tree.scope(node)
        definitions = module.flow.reaching(node.id, node)
        changes = module.flow.mutations(scope).get(node.id, [])
        if len(definitions) == 1 and isinstance(definitions[0].value, (ast.List, ast.ListComp)):
            made = definitions[0].value
            found = [made.elt] if isinstance(made, ast.ListComp) else list(made.elts)
            for each in changes:
                if each.method in ("insert", "setitem") or (each.method in ("extend", "augment") and not each.elements):
                    return
                found += each.elements
    if found and all(_is_array(module, each, _MOST_DEPTH) for each in found):
        yield from found


def _is_array(module: Module, node: ast.expr, depth: int) -> bool:
    """Whether an expression is an array of NumPy's, of one dimension or more, as far as single operations tell."""
    if not depth:
        return False
    if isinstance(node, ast.Name):
        reaching = module.flow.reaching(node.id, node)
        if any(each.how is How.AUGMENT for each in reaching):  # `a /= 255` leaves an array an array
            everything = module.flow.definitions(module.tree.scope(node)).get(node.id, [])
            reaching = [each for each in everything if each.how is not How.AUGMENT]
        return bool(reaching) and all(
            each.how is How.ASSIGN
            and each.value is not None
            and not each.path
            and _is_array(module, each.value, depth - 1)
            for each in reaching
        )
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(part, ast.Slice) for part in parts) and _is_array(module, node.value, depth - 1)
    if not isinstance(node, ast.Call):
        return False
    root, _, name = module.names.qualname(node.func).rpartition(".")
    if root in ("numpy", "numpy.random", "cv2") and name in _ARRAYS:
        return name != "array" or not node.args or not _is_number(module, node.args[0])
    given = module.classes.gives(node)
    if given:
        return all(_is_array(module, each, depth - 1) for each in given)
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr in _METHODS
        and _is_array(module, node.func.value, depth - 1)
    )


def _is_number(module: Module, node: ast.expr) -> bool:
    """Whether `np.array(x)` may hold one number: anything but a display, a comprehension or an image."""
    opened = isinstance(node, ast.Call) and module.names.qualname(node.func) == "PIL.Image.open"
    return not (opened or isinstance(node, (ast.List, ast.Tuple, ast.ListComp)))
