"""Parts that expressions cut out of arrays, as their text shows it, and what makes arrays."""

from __future__ import annotations

import ast

from flake8_torchleak.model.effects import TENSOR_METHODS, Sharing

_VIEWS = frozenset(name for name, effect in TENSOR_METHODS.items() if effect.sharing in (Sharing.VIEW, Sharing.STRIDED))
LOADS = frozenset({
    "numpy.load", "numpy.fromfile", "numpy.loadtxt", "numpy.genfromtxt", "cv2.imread", "cv2.imdecode", "imageio.imread",
    "imageio.v2.imread", "imageio.v3.imread", "skimage.io.imread", "tifffile.imread", "matplotlib.image.imread",
    "matplotlib.pyplot.imread", "torch.load", "torchvision.io.read_image", "scipy.ndimage.imread", "nibabel.load",
})  # fmt: skip
"""Functions whose result is as large as its file."""
CREATES = frozenset({"array", "asarray", "zeros", "ones", "empty", "full", "rand", "randn", "random"})
"""Functions of numpy and torch that make an array."""
WRITTEN = frozenset({"array", "asarray", "loadtxt", "genfromtxt"})
"""Of these the functions that make an array of what is spelled out, in a text file or a list: of any size."""
SIZED = CREATES - WRITTEN
"""Those that make one of a size that they are told."""
CUTTING = frozenset({"narrow", "select"})
"""Methods of tensors that cut a part out."""
_OUTPUTS = frozenset({"last_hidden_state", "logits"})
"""Parts of a model's output that are as large as all of it."""
_TRIMMED = 4
"""Elements at either end: leaving out so few is no waste worth a word."""


def under_views(value: ast.expr) -> ast.expr:
    """An expression without the methods on it that give views."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS:
        value = value.func.value
    return value


def base_of(cut: ast.Subscript) -> ast.expr:
    """What a part is cut out of; of a model's output, the whole output."""
    whole = cut.value
    return whole.value if isinstance(whole, ast.Attribute) and whole.attr in _OUTPUTS else whole


def cuts_out(index: ast.expr) -> bool:
    """Whether an index is basic and leaves out more than a few elements at the ends, or a colour's channels."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if not all(isinstance(p, (ast.Slice, ast.Constant, ast.UnaryOp)) or p is parts[0] for p in parts):
        return False
    cut = False
    for place, part in enumerate(parts):
        if isinstance(part, ast.Slice):
            last_of_several = len(parts) > 1 and place == len(parts) - 1
            cut = cut or not _keeps_most(part, last_of_several)
        elif place and isinstance(part, (ast.Constant, ast.UnaryOp)):
            cut = cut or getattr(part, "value", 0) not in (None, Ellipsis)
    return cut


def _keeps_most(part: ast.Slice, last_of_several: bool) -> bool:
    """Whether a slice leaves out a constant few at its ends, or is the first channels of a last axis."""
    if isinstance(part.step, ast.Constant):
        return False
    if last_of_several and part.lower is None and isinstance(part.upper, ast.Constant):
        return _is_few(part.upper)
    return (part.lower is None or _is_few(part.lower)) and (part.upper is None or isinstance(part.upper, ast.UnaryOp))


def _is_few(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= _TRIMMED
