"""How many pixels an image has at most, where the code says what size it is brought to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.few import default_of, numbers

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_DEPTH = 8
_SAME_SIZE = frozenset({
    "cv2.cvtColor", "cv2.flip", "cv2.GaussianBlur", "cv2.blur", "cv2.medianBlur", "cv2.bilateralFilter", "cv2.LUT",
    "cv2.normalize", "cv2.equalizeHist", "cv2.dilate", "cv2.erode", "cv2.addWeighted", "cv2.convertScaleAbs",
    "numpy.array", "numpy.asarray", "numpy.ascontiguousarray", "numpy.float32", "numpy.uint8", "numpy.clip",
})  # fmt: skip
"""Functions that give an image of the size that their first argument has."""
_SAME_SIZE_METHODS = frozenset({"astype", "copy", "clip"})
_MADE = frozenset({"numpy.zeros", "numpy.ones", "numpy.full", "numpy.empty"})


def pixels(module: Module, node: ast.expr | None, depth: int = _MOST_DEPTH) -> int | None:
    """The most pixels that an image may have, by defaults where these are not given; None: not known."""
    if node is None or not depth:
        return None
    if isinstance(node, ast.Name):
        found = [
            pixels(module, each.value, depth - 1) if each.is_plain else None
            for each in module.flow.reaching(node.id, node)
        ]
        known = [each for each in found if each is not None]
        return max(known) if known and len(known) == len(found) else None
    if isinstance(node, ast.Subscript):
        return pixels(module, node.value, depth - 1)  # a part of it, or a channel
    if isinstance(node, ast.BinOp):
        return pixels(module, node.left, depth - 1) or pixels(module, node.right, depth - 1)
    return _of_call(module, node, depth) if isinstance(node, ast.Call) else None


def _of_call(module: Module, call: ast.Call, depth: int) -> int | None:
    qualname = module.names.qualname(call.func)
    if qualname == "cv2.resize":
        return resized(module, call)
    if qualname in _MADE and call.args:
        return _product(module, call.args[0])
    if qualname in _SAME_SIZE and call.args:
        return pixels(module, call.args[0], depth - 1)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_SIZE_METHODS:
        return pixels(module, call.func.value, depth - 1)
    return None


def resized(module: Module, call: ast.Call) -> int | None:
    """The pixels of what `cv2.resize` gives."""
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "dsize")]
    return _product(module, given[0]) if given else None


def _product(module: Module, shape: ast.expr) -> int | None:
    """The product of the first two numbers of `(224, 224)`, `(size, size)`, `(height, width, 3)`."""
    found = _sides(module, shape, _MOST_DEPTH)
    return max(found) if found else None


def _sides(module: Module, shape: ast.expr, depth: int) -> list[int]:
    """The products that a shape may have; none where it is not known."""
    if isinstance(shape, (ast.Tuple, ast.List)):
        sides = [numbers(module, each) for each in shape.elts[:2]]
        return [max(sides[0]) * max(sides[1])] if len(sides) == 2 and all(sides) else []
    found = _bound(module, shape) if depth else []
    values = [
        default_of(each) if each.how is How.PARAMETER else each.value if each.is_plain else None for each in found
    ]
    products = [_sides(module, each, depth - 1) if each is not None else [] for each in values]
    return [side for each in products for side in each] if all(products) else []


def _bound(module: Module, node: ast.expr) -> list[Definition]:
    """What a variable or an attribute of the object is bound to."""
    owned = module.classes.self_attribute(node)
    if owned is not None:
        return owned[0].attributes.get(f"self.{owned[1]}", [])
    return module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
