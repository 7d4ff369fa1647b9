"""All files of a project at once, for questions that one file and those that import it cannot answer.

Texts are searched, and only what holds a word is parsed. A project that is too large, or has files that cannot be read,
has no answer.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cached_property

from flake8_torchleak.model.firstparty import Finder, text_of
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.mentions import texts_beside
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Tree
from flake8_torchleak.source import parse

_MOST_FILES = 600
_MOST_PARSED = 80
_TESTING = frozenset({"unittest", "pytest"})
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(class|def)[ \t]+(\w+)", re.MULTILINE)


class TooMuch(Exception):
    """The project cannot be looked through."""


class Part:
    """One parsed file of a program."""

    def __init__(self, path: str, root: ast.Module) -> None:
        self.path, self.root, self.tree = path, root, Tree(root)

    @cached_property
    def imported(self) -> dict[str, str]:
        """What the file imports under which name: {"DataLoader": "torch.utils.data.DataLoader"}."""
        found: dict[str, str] = {}
        for node in self.tree.all(ast.Import, ast.ImportFrom):
            for alias in node.names:
                if isinstance(node, ast.ImportFrom):
                    found[alias.asname or alias.name] = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                else:
                    name = alias.asname or alias.name.partition(".")[0]
                    found[name] = alias.name if alias.asname else name
        return found

    @cached_property
    def is_test(self) -> bool:
        """Whether it is a test, by what it imports or by its folder."""
        heads = {each.partition(".")[0] for each in self.imported.values()}
        return bool(heads & _TESTING) or "tests" in self.path.split(os.sep)

    def origin(self, node: ast.expr) -> str:
        """The module path that a dotted expression is imported from; "" if it is not imported."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return self.imported.get(node.id, "") if isinstance(node, ast.Name) else ""

    def name(self, node: ast.expr) -> str:
        """The last name of what is called, as it is called where it is defined."""
        own = last_name(node)
        return self.imported.get(own, own).rpartition(".")[2] if isinstance(node, ast.Name) else own

    def scopes(self, node: ast.AST) -> Iterator[FunctionNode]:
        """The functions around a node, the innermost first."""
        function = self.tree.function(node)
        while function is not None:
            yield function
            function = self.tree.function(function)


class Program:
    """The files of a project, its settings and its scripts. Raises TooMuch."""

    def __init__(self, top: str) -> None:
        self.top = top
        self._paths = files_below(top)
        if len(self._paths) > _MOST_FILES:
            raise TooMuch
        self._parts: dict[str, Part] = {}

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {path: text_of(path, self.top) or "" for path in self._paths}

    @cached_property
    def beside(self) -> dict[str, str]:
        """The settings, scripts and notebooks: their texts, by path."""
        paths = texts_beside(self.top)
        if paths is None:
            raise TooMuch
        return {path: self._beside(path) for path in paths}

    def _beside(self, path: str) -> str:
        text = text_of(path, self.top)
        if text is None and path.endswith(".ipynb"):
            raise TooMuch  # a notebook with its pictures; what else is large is data
        return text or ""

    def holding(self, word: str) -> Iterator[Part]:
        """The files in which a word stands."""
        for path, text in self._texts.items():
            if word in text:
                yield self.part(path, text)

    def part(self, path: str, text: str) -> Part:
        """A file, parsed."""
        found = self._parts.get(path)
        if found is None:
            if len(self._parts) == _MOST_PARSED:
                raise TooMuch
            try:
                found = self._parts[path] = Part(path, parse(text))
            except SyntaxError as error:
                raise TooMuch from error
        return found

    @cached_property
    def _defined(self) -> dict[str, set[str]]:
        """The files that define a name, by `class name` or `def name`."""
        found: dict[str, set[str]] = {}
        for path, text in self._texts.items():
            for kind, name in _DEFINED.findall(text):
                found.setdefault(f"{kind} {name}", set()).add(path)
        return found

    def is_class(self, name: str) -> bool:
        """Whether a class of the project has this name."""
        return f"class {name}" in self._defined

    def is_function(self, name: str) -> bool:
        """Whether a function or method of the project has this name."""
        return f"def {name}" in self._defined

    def classes(self, name: str) -> Iterator[tuple[Part, ast.ClassDef]]:
        """The classes of this name."""
        for path in sorted(self._defined.get(f"class {name}", ())):
            part = self.part(path, self._texts[path])
            yield from ((part, each) for each in part.tree.all(ast.ClassDef) if each.name == name)

    def functions(self, name: str) -> Iterator[tuple[Part, FunctionNode]]:
        """The functions and methods of this name."""
        for path in sorted(self._defined.get(f"def {name}", ())):
            part = self.part(path, self._texts[path])
            yield from ((part, each) for each in part.tree.all(*FUNCTIONS) if each.name == name)

    def lineage(self, name: str) -> list[tuple[Part, ast.ClassDef]]:
        """The classes of a name and those of the project that they derive from."""
        found = list(self.classes(name))
        for part, node in found:
            for base in node.bases:
                found += [each for each in self.classes(part.name(base)) if each not in found]
        return found

    def is_outside(self, part: Part, node: ast.expr) -> bool:
        """Whether an expression names something that is imported from another project."""
        origin = part.origin(node)
        return bool(origin) and not Finder(part.path).is_near(origin.partition(".")[0])

    def is_unknown(self, part: Part, node: ast.expr) -> bool:
        """Whether an expression names something that is imported, and neither the project's own nor torch's."""
        origin, name = part.origin(node), part.name(node)
        own = self.is_class(name) or self.is_function(name)
        if not origin or origin.startswith("torch"):
            return False
        place = f"{os.sep}{origin.rpartition('.')[0].rpartition('.')[2]}.py"  # its folder may be put in `sys.path`
        return not own or (self.is_outside(part, node) and not any(path.endswith(place) for path in self._paths))
