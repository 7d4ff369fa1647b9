"""The modules of the project that use one module, as models of their own: who calls it, and with what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from flake8_torchleak.model.firstparty import whole
from flake8_torchleak.model.importers import importers
from flake8_torchleak.model.remember import remembered

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Answer = TypeVar("Answer")

_MOST_USERS = 12
"""Using modules that are looked into."""


class Users:
    """Who uses a module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def paths(self, *words: str) -> list[str]:
        """The files that import the module (or what imports it), and hold all of these words; none is parsed."""
        return self._found(words)[0]

    def are_all(self, *words: str) -> bool:
        """Whether no other file may import the module and hold these words."""
        return self._found(words)[1]

    @remembered
    def _found(self, words: tuple[str, ...]) -> tuple[list[str], bool]:
        project = self.module.project
        if project is None or self.module.path is None:
            return [], True
        found, whole_project = importers(self.module.path, words, _MOST_USERS)
        if not whole_project:
            project.left_out = f"more than {_MOST_USERS} modules use it, or too many to look at"
        return found, whole_project

    def answers(self, question: Callable[[Module], Answer], *words: str) -> Iterator[tuple[Module, Answer]]:
        """What those that import this module (or what imports it), and hold all of these words, say to a question."""
        for module in self._modules(words):
            *_, answered = ((each, question(each)) for each in module.rounds())
            yield answered

    def _modules(self, words: tuple[str, ...]) -> Iterator[Module]:
        for each in self.paths(*words):
            assert self.module.project is not None
            found = whole(each, self.module.project.top)
            if found is not None:
                yield type(self.module)(*found, self.module.config, each)
