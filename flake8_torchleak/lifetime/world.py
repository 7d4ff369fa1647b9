"""The modules that a program runs through: what their names stand for, and which are a function's own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.nodes import below, walk
from flake8_torchleak.lifetime.values import Obj, Value
from flake8_torchleak.model.files import File, imported
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.firstparty import Finder

Definition = FunctionNode | ast.ClassDef
_SCOPES = frozenset({*FUNCTIONS, ast.ClassDef, ast.Lambda})
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_BINDING = frozenset(
    {
        *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.ExceptHandler),
        *(ast.MatchAs, ast.MatchStar, ast.MatchMapping),
    }
)
_MOST_BASES = 12
_LONGEST_ORDER = 60
"""Classes, itself and those above it, among which an attribute of a class is looked for."""
_MOST_FOREIGN = 60


class Place:
    """One module: the linted one, or another file of its project."""

    def __init__(self, path: str, root: ast.Module | None, file: File | None, finder: Finder | None) -> None:
        self.path, self.root, self._file, self._finder = path, root, file, finder
        self.libraries: dict[str, Value] = {}
        """Of dotted names that are imported here: what those are that the project does not define."""

    @property
    def is_own(self) -> bool:
        """Whether it is the module that is linted."""
        return self._file is None

    @property
    def text(self) -> str:
        """The text of another file; "" of the module that is linted."""
        return self._file.source.text if self._file is not None else ""

    @cached_property
    def variables(self) -> Obj:
        """The module's own variables."""
        return Obj("frame", None, 0)

    @cached_property
    def _statements(self) -> dict[str, list[ast.stmt]]:
        return binding(self.root.body) if self.root is not None else {}

    def binding(self, name: str) -> list[ast.stmt]:
        """The top-level statements that bind a name, in order."""
        if self._file is not None:
            return self._file.binding(name)
        return self._statements.get(name, [])

    @cached_property
    def stars(self) -> list[str]:
        """The modules all of whose names are imported here (`from x import *`), the last one first."""
        found = self.root.body if self.root is not None else self._file.stars if self._file is not None else []
        stars = [s for s in found if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"]
        return ["." * star.level + (star.module or "") for star in reversed(stars)]

    def starred(self, name: str) -> tuple[Place, Definition] | None:
        """The function or class that a name stands for that came with all names of a module."""
        found = (self.definition(star + name if star.endswith(".") else f"{star}.{name}") for star in self.stars)
        return next((each for each in found if each is not None), None)

    def definition(self, dotted: str) -> tuple[Place, Definition] | None:
        """The function or class of the project that a dotted name, as it is imported here, stands for."""
        target = self.variable(dotted)
        if target is None:
            return None
        place, name = target
        found = [each for each in place.binding(name) if isinstance(each, (*FUNCTIONS, ast.ClassDef))]
        return (place, found[-1]) if found else None

    def variable(self, dotted: str) -> tuple[Place, str] | None:
        """The module of the project, and the name there, that a dotted name stands for as it is imported here."""
        target = self._finder.resolve(self.path, dotted, assigned=True) if self._finder is not None else None
        return (self.other(target[0]), target[1]) if target is not None else None

    def other(self, file: File) -> Place:
        """The place of another file: one for each, whoever asks."""
        places = self._places
        if file.path not in places:
            place = places[file.path] = Place(file.path, None, file, self._finder)
            place.__dict__["_places"] = places
        return places[file.path]

    @cached_property
    def _places(self) -> dict[str, Place]:
        return {}

    def forget(self) -> None:
        """Let go of all that is known of this module, and of those around it, for good."""
        for each in (*self._places.values(), self):
            vars(each).clear()


class _Bound:
    """What statements do to the names of their scope, by one walk; functions and classes in them are left alone."""

    def __init__(self, body: Sequence[ast.AST]) -> None:
        self.names: set[str] = set()
        self.outer: set[str] = set()
        """Names declared global or nonlocal."""
        self.globals: set[str] = set()
        self.yields = False
        stack = list(body)
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind is ast.Name:
                if not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                    self.names.add(node.id)  # type: ignore[attr-defined]
            elif kind in _SCOPES:
                if kind is not ast.Lambda:
                    self.names.add(node.name)  # type: ignore[attr-defined]
            elif kind in _COMPREHENSIONS:
                stack += [inner for inner in walk(node) if isinstance(inner, ast.NamedExpr)]
            elif node is not None and kind is not ast.Constant:
                if kind in _BINDING:
                    self._note(node)
                stack += below(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self.outer.update(node.names)
            if isinstance(node, ast.Global):
                self.globals.update(node.names)
        elif isinstance(node, (ast.Yield, ast.YieldFrom)):
            self.yields = True
        else:
            name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name")
            if name:
                self.names.add(name)


class Scope:
    """Which names are a function's own, and which it takes from outside on purpose."""

    def __init__(self, node: FunctionNode | ast.Lambda) -> None:
        self.parameters = parameters_of(node.args)
        bound = _Bound([] if isinstance(node, ast.Lambda) else node.body)
        self.globals, self.yields = bound.globals, bound.yields
        self.own = (bound.names | {each.arg for each in self.parameters}) - bound.outer


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters but `*args` and `**kwargs` first, then these."""
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [each for each in (arguments.vararg, arguments.kwarg) if each is not None]


_CONTAINERS = {
    **dict.fromkeys(("dict", "OrderedDict", "defaultdict", "Counter", "UserDict"), "dict"),
    **dict.fromkeys(("list", "UserList"), "list"),
    "set": "set",
    "deque": "deque",
}
"""Classes that a project derives its own containers from."""


class ClassInfo:
    """A class of the project: its methods and class attributes, bases of the project first."""

    def __init__(self, node: ast.ClassDef, place: Place, bases: list[ClassInfo], foreign: list[str]) -> None:
        self.node, self.place, self.bases = node, place, bases[:_MOST_BASES]
        inherited = dict.fromkeys([*foreign, *(name for base in bases for name in base.foreign)])
        self.foreign: list[str] = list(inherited)[:_MOST_FOREIGN]
        """Dotted names of bases that other libraries define."""
        self.own = {each.name: each for each in node.body if isinstance(each, FUNCTIONS)}
        self.instance: Obj | None = None
        self.shared: Obj | None = None
        """What its body sets: the class attributes."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @cached_property
    def order(self) -> list[ClassInfo]:
        """Itself and its bases in the order in which attributes are looked up."""
        found = dict.fromkeys([self, *(each for base in self.bases for each in base.order)])
        return list(found)[:_LONGEST_ORDER]

    @remembered
    def method(self, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        """A method and the class that defines it."""
        return next(((each, each.own[name]) for each in self.order if name in each.own), None)

    @cached_property
    def is_network(self) -> bool:
        """Whether it is an `nn.Module`, by its bases."""
        return any(name.endswith(("Module", "PreTrainedModel")) for name in self.foreign) or bool(self.layers)

    @cached_property
    def layers(self) -> list[str]:
        """Its bases among the classes of `torch.nn`, `_Loss` and the like among them, as they are called there."""
        names = [name.removeprefix("torch.nn.") for name in self.foreign if name.startswith("torch.nn.")]
        return [
            name for name in names if name.rpartition(".")[2].lstrip("_")[:1].isupper() and not name.endswith("Module")
        ]

    @cached_property
    def container(self) -> str:
        """What container its objects are, by its bases: "dict", "list", "set", "deque"; "" if they are none."""
        names = (name.rpartition(".")[2] for name in self.foreign)
        return next((_CONTAINERS[name] for name in names if name in _CONTAINERS), "")

    @cached_property
    def is_record(self) -> bool:
        """Whether its constructor sets its annotated fields: a NamedTuple, a dataclass."""
        names = [name.rpartition(".")[2] for name in self.foreign]
        decorated = {
            ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in self.node.decorator_list
        }
        marks = {name.rpartition(".")[2] for name in decorated}
        return (
            "NamedTuple" in names
            or bool(marks & {"dataclass", "define", "attrs", "frozen"})
            or any(base.is_record for base in self.bases)
        )

    @cached_property
    def record_fields(self) -> list[tuple[str, ast.expr | None]]:
        """The fields of a record with their defaults, in order."""
        found = [field for base in self.bases for field in base.record_fields]
        for each in self.node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                found.append((each.target.id, each.value))
        return found


def binding(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """For each name: the statements of a block that bind it in their scope, in the blocks in them too."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in _Bound([statement]).names:
            found.setdefault(name, []).append(statement)
    return found


def import_of(statement: ast.stmt, name: str) -> str:
    """The dotted name that the statement that binds a name binds it to; "" if it is no import."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return ""
    alias = next(each for each in statement.names if (each.asname or each.name.partition(".")[0]) == name)
    if isinstance(statement, ast.ImportFrom):
        return imported(statement, alias)
    return alias.name if alias.asname else name
