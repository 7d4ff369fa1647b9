"""The first gate: whether a text has anything to do with PyTorch, by plain words. Most files end here: no imports."""

from __future__ import annotations

from collections.abc import Iterable

_TORCH = (
    "torch", "lightning", "accelerate", "transformers", "Dataset", "oader", ".backward(", ".eval()",
    "register_forward_",
)  # fmt: skip
"""A module with none of these is not about PyTorch (a Dataset's base may come from the project itself)."""


def holds_any(text: str, words: Iterable[str]) -> bool:
    """Whether one of these words stands in a text. A loop: `any` takes as long as the search itself."""
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def is_of_torch(text: str, bases: Iterable[str]) -> bool:
    """Whether a text may be about PyTorch. bases: further names that make a class a Dataset."""
    return holds_any(text, _TORCH) or holds_any(text, (each.rpartition(".")[2] for each in bases))


def may_matter(text: str, bases: Iterable[str]) -> bool:
    """Whether any rule may find something in a text."""
    return is_of_torch(text, bases) or "cv2" in text
