"""The values a helper of the file is called with."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flake8_torchleak.model.values import Value


class Env(dict[ast.arg, Value]):
    """Values of a helper's parameters for one call of it, with what was found under them."""

    __slots__ = ("memo",)

    def __init__(self, values: Mapping[ast.arg, Value]) -> None:
        super().__init__(values)
        self.memo: dict[object, Value] = {}


NO_ENV = Env({})
