"""Values that are what is in a file: an image, a recording, an array, or all of its bytes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_DECODERS = frozenset({
    "cv2.imread", "cv2.imdecode", "PIL.Image.open", "imageio.imread", "skimage.io.imread", "matplotlib.pyplot.imread",
    "tifffile.imread", "torchvision.io.read_image", "torchvision.io.read_video", "torchaudio.load", "librosa.load",
    "soundfile.read", "scipy.io.wavfile.read", "nibabel.load", "torch.load",
})  # fmt: skip


def is_decoded(module: Module, node: ast.expr) -> bool:
    """Whether a value comes straight from a function that reads one image, recording or array from a file."""
    if isinstance(node, ast.Name):
        return any(is_decoded(module, each) for each in _values(module, node))
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(module.names.qualname(each.func) in _DECODERS for each in calls)


def holds_file(module: Module, node: ast.expr) -> bool:
    """Whether a value is, or may be, all bytes of a file: `open(path, "rb").read()`. Texts are short, as labels are."""
    if isinstance(node, ast.Name):
        return any(holds_file(module, each) for each in _values(module, node))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return False
    opened = node.func.value
    opens = _values(module, opened) if isinstance(opened, ast.Name) else [opened]
    return node.func.attr == "read_bytes" or (node.func.attr == "read" and any(map(_is_binary, opens)))


def _values(module: Module, node: ast.Name) -> list[ast.expr]:
    """What a variable is bound to, other variables left out."""
    values = [d.value for d in module.flow.reaching(node.id, node) if d.value is not None]
    return [each for each in values if not isinstance(each, ast.Name)]


def _is_binary(node: ast.expr) -> bool:
    """Whether something opens a file as bytes: `open(path, "rb")`, `path.open(mode="rb")`."""
    given = [*node.args, *(each.value for each in node.keywords)] if isinstance(node, ast.Call) else []
    return any(isinstance(each, ast.Constant) and each.value in ("rb", "br", "rb+") for each in given)
