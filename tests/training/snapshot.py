"""What a value is, as plain data that can be compared bit by bit: values of two runs never meet."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

_DEPTH = 8


def plain(value: Any, own: Collection[str] = (), depth: int = _DEPTH) -> Any:
    """Type, shape, dtype and bytes of tensors and arrays, and all that is in containers and objects.

    Whether a tensor has history is no part of it. own: the program's modules, whose objects are looked into.
    """
    if depth == 0:
        return "..."
    below = depth - 1
    if isinstance(value, torch.Tensor):
        kind = "Parameter" if isinstance(value, torch.nn.Parameter) else "Tensor"
        return (kind, str(value.dtype), tuple(value.shape), _bytes(value))
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return ("ndarray", "object", value.shape, [plain(each, own, below) for each in value.ravel()])
        return ("ndarray", str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
        return (type(value).__name__, repr(value))
    if isinstance(value, (list, tuple, collections.deque)):
        return (type(value).__name__, [plain(each, own, below) for each in value])
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(repr(plain(each, own, below)) for each in value))
    if isinstance(value, dict):
        items = [(plain(key, own, below), plain(each, own, below)) for key, each in value.items()]
        return (type(value).__name__, items)
    if dataclasses.is_dataclass(value) or type(value).__module__ in own:
        if isinstance(value, (torch.nn.Module, FunctionType, type)):
            return type(value).__name__
        return (type(value).__name__, plain(getattr(value, "__dict__", None), own, below))
    return type(value).__name__


def _bytes(tensor: torch.Tensor) -> bytes:
    with torch.no_grad():
        dense = tensor.detach().cpu().contiguous()
        return dense.numpy().tobytes() if dense.dtype != torch.bfloat16 else dense.view(torch.int16).numpy().tobytes()


def is_data(name: str, value: Any) -> bool:
    """Whether a global of a module is data that the module made, and no import, function or class."""
    return not name.startswith("__") and not isinstance(value, (ModuleType, FunctionType, type)) and not callable(value)
