"""What a project has left behind: a function or class that nothing names but what is left behind itself.

What is decorated may be registered, a package's users are not in sight, and names that a program works out, or that
stand in settings and scripts, are uses: there the answer is no.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.decorating import may_register
from flake8_torchleak.model.firstparty import Finder, holds, text_of, whole
from flake8_torchleak.model.importers import files_below, importers, naming, statements
from flake8_torchleak.model.mentions import (
    IMPORTING,
    Definition,
    gets_by_text,
    looks_up,
    mentioning,
    programs,
    stands_beside,
)
from flake8_torchleak.model.published import readmes
from flake8_torchleak.model.reading import made, reader
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_USERS = 40
"""Files that import a module, itself or through another."""
_ITSELF = "sys.modules[__name__]"
"""How a module gets at what is in itself."""
_MOST_OTHERS = 600
"""Files whose texts are searched for a name."""
_MOST_LEVELS = 4
"""Definitions that name the definition that names it, and so on."""


def is_left_over(module: Module, node: ast.AST) -> bool:
    """Whether nothing in the project runs the function or class at module level around a node, as far as names tell.

    Only where its module is run as a program, or runs its own functions, lies among programs, or other files import it:
    its use would be seen. A notebook is run, and nothing imports it.
    """
    if (module.path or "").endswith(".ipynb"):
        return _is_left_in_notebook(module, node)
    project = module.project
    definition = _outermost(module, node) if project is not None else None
    if project is None or definition is None or may_register(definition):
        return False
    path = os.path.abspath(str(module.path))
    if os.path.basename(path) == "__init__.py" or project.is_published:
        return False
    return _Search(project.top).is_unused(path, module.root, module.source.text, definition.name)


def _is_left_in_notebook(module: Module, node: ast.AST) -> bool:
    """Whether no cell of a notebook names the function or class around a node but in what none names itself.

    Not where none uses any definition: the notebook is one of examples, or is still written.
    """
    definition = _outermost(module, node)
    if definition is None or looks_up(module.root, module.source.text):
        return False
    made = (each for each in module.root.body if isinstance(each, (*FUNCTIONS, ast.ClassDef)))
    if not any(holder is None for each in made for holder in mentioning(module.root, each.name)):
        return False
    asked: list[Definition] = [definition]
    for each in asked:
        for holder in mentioning(module.root, each.name):
            if holder is None:
                return False
            asked += [holder] if holder not in asked else []
    return not any(map(may_register, asked))


def is_named_nowhere(module: Module, node: ast.ClassDef) -> bool:
    """Whether a program's files, settings and scripts name a class, and what names it, nowhere but where it stands.

    Then it does not matter who imports its module, or how; not where some file gets at modules by names it works out.
    """
    project = module.project
    if project is None or not project.is_program:
        return False
    path = os.path.abspath(str(module.path))
    paths = [each for each in files_below(project.top) if each != path]
    by_text = len(paths) > _MOST_OTHERS or gets_by_text(module.source.text)
    if by_text or any(_gets_others(each, project.top) for each in paths):
        return False
    others = [_others(each, project.top) for each in paths]
    asked: list[Definition] = [definition] if (definition := _outermost(module, node)) is not None else []
    for each in asked:
        word = re.compile(rf"\b{each.name}\b")
        if may_register(each) or stands_beside(project.top, each.name) or any(map(word.search, others)):
            return False
        for holder in mentioning(module.root, each.name):
            if holder is None or len(asked) == _MOST_LEVELS:
                return False
            asked += [holder] if holder not in asked else []
    return bool(asked)


@made(_MOST_OTHERS)
def _gets_others(path: str, top: str) -> bool:
    """Whether a file gets at modules by words that say so, its own left out."""
    return gets_by_text(_others(path, top))


def _others(path: str, top: str) -> str:
    """The text of a file without what gets at the file itself."""
    return (text_of(path, top) or "").replace(_ITSELF, "")


def gets_modules(top: str) -> bool:
    """Whether some file of a project imports modules by names that it works out, or there are too many to tell."""
    files = files_below(top)
    return len(files) > _MOST_OTHERS or any(holds(each, top, word) for each in files for word in IMPORTING)


class _Search:
    """One question, through the files of a project."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._asked: set[tuple[str, str]] = set()

    def is_unused(self, path: str, root: ast.Module, text: str, name: str) -> bool:
        users, complete = importers(path, (), _MOST_USERS)
        if not complete or looks_up(root, text) or self._may_be_loaded(path, users):
            return False
        if not (users or "__main__" in text or _runs_itself(root) or self._is_beside_programs(path)):
            return False
        self._asked.add((path, name))
        files = [(path, root, text)]
        for each in users:
            found = whole(each, self._top)
            if found is None or looks_up(found[1], found[0].text):
                return False
            files.append((each, found[1], found[0].text))
        return not stands_beside(self._top, name) and all(
            self._is_unused_too(*file, holder)
            for file in files
            if name in file[2]
            for holder in mentioning(file[1], name, Finder(file[0]).is_near)
        )

    def _is_beside_programs(self, path: str) -> bool:
        """Whether a module that nothing imports, and that is no program, lies among programs, and no text names it.

        Else it may be all that there is, for others to copy; or its users lie above what is taken for the project.
        """
        top = self._top
        if not Finder(path).is_marked or is_written(top, _stem(path)):
            return False
        return bool(reader().row(programs, (top, ""), ""))

    def _is_unused_too(self, path: str, root: ast.Module, text: str, holder: Definition | None) -> bool:
        """Whether what mentions a name is left over itself."""
        if holder is None or may_register(holder) or os.path.basename(path) == "__init__.py":
            return False
        if (path, holder.name) in self._asked:
            return True
        return len(self._asked) < _MOST_LEVELS and self.is_unused(path, root, text, holder.name)

    def _may_be_loaded(self, path: str, users: list[str]) -> bool:
        """Whether another file imports a module of this name, which may be this one for a program in another folder.

        Not one that names a package as well, or that finds another module where it lies: Python looks there first.
        """
        others = set(naming(path, _stem(path))) - {path, *users}
        return any(self._may_load(each, path) for each in others)

    def _may_load(self, importing: str, path: str) -> bool:
        finder, name = Finder(importing), _stem(path)
        found = [each for each in statements(importing, self._top) if name in _alone(each)]
        beside = os.path.dirname(importing) == os.path.dirname(path)
        return bool(found) and (beside or holds(importing, self._top, "sys.path") or not finder.imports(found))


def _runs_itself(root: ast.Module) -> bool:
    """Whether a module is a program by its own statements: they call its functions for nothing, or in a block."""
    own = {each.name for each in root.body if isinstance(each, FUNCTIONS)}
    called = (call.func for each in root.body for call in _at_once(each))
    return any(isinstance(each, ast.Name) and each.id in own for each in called)


def _at_once(statement: ast.stmt) -> list[ast.Call]:
    """The call that a statement is, or all those in a loop or `with`."""
    if isinstance(statement, (ast.For, ast.While, ast.With)):
        return [each for each in ast.walk(statement) if isinstance(each, ast.Call)]
    value = statement.value if isinstance(statement, ast.Expr) else None
    return [value] if isinstance(value, ast.Call) else []


def _alone(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that a statement imports by one name: in `import a.b`, and where a package is named, none is."""
    if isinstance(statement, ast.ImportFrom):
        return [statement.module] if statement.module and not statement.level else []
    return [each.name for each in statement.names]


def is_written(top: str, name: str) -> bool:
    """Whether a name stands in what is no code: in settings, scripts, notebooks, or what tells people what to run."""
    return stands_beside(top, name) or any(holds(each, top, name) for each in readmes(top))


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _outermost(module: Module, node: ast.AST) -> Definition | None:
    """The function or class at module level that a node is, or is in."""
    for each in module.root.body:
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)) and module.tree.inside(node, each):
            return each
    return None
