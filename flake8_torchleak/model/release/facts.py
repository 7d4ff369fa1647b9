"""What a rule and a fix ask: may this value be released for its holder, and if not, why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.release.asking import Asking
from flake8_torchleak.model.release.callers import Callers
from flake8_torchleak.model.release.differentiation import Differentiation
from flake8_torchleak.model.release.escapes import Escapes
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.release.paths import Paths
from flake8_torchleak.model.release.saving import Saving
from flake8_torchleak.model.release.sharing import Sharing
from flake8_torchleak.model.release.spent import Spent
from flake8_torchleak.model.uses import Uses
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


class Release:
    """Whether values of one module may be released for their holders."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def differentiation(self) -> Differentiation:
        """Where the module differentiates."""
        return Differentiation(self.module)

    @cached_property
    def paths(self) -> Paths:
        """What runs on every path."""
        return Paths(self.module.tree)

    @cached_property
    def saving(self) -> Saving:
        """Which graphs can be differentiated only once."""
        return Saving(self.module)

    @cached_property
    def spent(self) -> Spent:
        """What is differentiated where it is kept."""
        return Spent(self.module)

    @cached_property
    def escapes(self) -> Escapes:
        """What becomes of what is kept."""
        return Escapes(self.module)

    @cached_property
    def asking(self) -> Asking:
        """Who asks values for their history."""
        return Asking(self.module)

    @cached_property
    def callers(self) -> Callers:
        """Whose results are a part of training."""
        return Callers(self.module)

    @cached_property
    def sharing(self) -> Sharing:
        """Who edits what the module hands out."""
        return Sharing(self.module)

    @cached_property
    def uses(self) -> Uses:
        """What is only shown."""
        return Uses(self.module)

    def reason(self, value: ast.expr, key: str, node: ast.expr | ast.stmt) -> str:
        """Why a value may not be released for its holder, "" where it may."""
        ending = self.escapes.of_holder(key, node)
        if ending.fate is Fate.READ:
            return ""
        if ending.fate < Fate.ASKED and self.spent.is_spent(value, key, node):
            asked = self.asking.around
            if asked is None:
                return ""
            return f"`{short(value)}` may be what `{short(asked)}` asks for its history: {ending.why}"
        return f"`{short(value)}` may be differentiated later: {ending.why}"


def carriers(module: Module, value: ast.expr) -> Iterator[ast.expr]:
    """The parts of a stored expression that carry a graph: of a display, its entries; else the whole."""
    stack = [value]
    while stack:
        each = stack.pop()
        if module.infer.value(each).graph is False and each is not value:
            continue
        if isinstance(each, (ast.Tuple, ast.List)):
            stack += reversed(each.elts)
        elif isinstance(each, ast.Dict):
            stack += reversed(each.values)
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "dict":
            stack += [keyword.value for keyword in reversed(each.keywords)]
        elif each is value or module.infer.value(each).graph:
            yield each
