"""Decorators that hand what they decorate to nobody: as without them, who runs it must name it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.mentions import Definition

_WRAPPING = frozenset({
    "cache", "cached_property", "classmethod", "contextmanager", "dataclass", "enable_grad", "inference_mode",
    "lru_cache", "no_grad", "property", "staticmethod", "wraps",
})  # fmt: skip
"""By the last part of their names: those of Python and torch."""
_PROGRAMS = frozenset({"hydra.main"})
"""What makes a program of a function, which the file has to call."""


def may_register(definition: Definition) -> bool:
    """Whether a decorator may give a function or class to somebody who runs it: a registry, a command line."""
    return not all(map(_only_wraps, definition.decorator_list))


def _only_wraps(decorator: ast.expr) -> bool:
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(made) in _WRAPPING or key_of(made) in _PROGRAMS
