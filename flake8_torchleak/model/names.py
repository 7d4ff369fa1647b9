"""What a name means: scopes, bindings and imports.

Names are resolved over the whole module, not over what stands above a line: an import inside a function or
below its use counts, a parameter or assignment that shadows an import hides it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from flake8_torchleak.model import hints
from flake8_torchleak.model.aliases import known_as
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.scopes import Bound, bindings_of
from flake8_torchleak.model.scopes import parameters as parameters
from flake8_torchleak.model.standing import Standing
from flake8_torchleak.model.starred import from_star, gives
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, FunctionNode, Scope, Tree


def dotted(node: ast.AST) -> list[str] | None:
    """["a", "b", "c"] for the expression a.b.c; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    parts.reverse()
    return parts


def last_name(node: ast.AST) -> str:
    """The last name of a dotted expression (`c` of a.b.c), or "" for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def network_of(call: ast.Call) -> ast.expr:
    """What a call runs, if it is a network: `model` of `model(x)`, and of `model.forward(x)`."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "forward" and isinstance(func.value, (ast.Name, ast.Attribute)):
        return func.value
    return func


def mentions(node: ast.AST, word: str) -> bool:
    """Whether a name, attribute, keyword or string below `node` contains a word."""
    return any(
        isinstance(text, str) and word in text
        for each in ast.walk(node)
        for text in (getattr(each, field, None) for field in ("id", "attr", "arg", "value"))
    )


def _bound_at(part: ast.AST, whole: ast.AST) -> list[ast.comprehension]:
    """The generators of a comprehension that have run where a part of it is evaluated: a later one hides the others."""
    generators: list[ast.comprehension] = whole.generators if isinstance(whole, COMPREHENSIONS) else []
    return generators[: generators.index(part) + 1] if isinstance(part, ast.comprehension) else generators


def _is_network(qualname: str) -> bool:
    """Whether a name says that it is a network, or makes one: large to read, and known for what it gives."""
    name = qualname.rpartition(".")[2]
    return hints.is_model(name) or hints.makes_model(name)


def defaults(function: FunctionNode | ast.Lambda) -> dict[ast.arg, ast.expr]:
    """The parameters that have a default, with it."""
    a = function.args
    placed = [*a.posonlyargs, *a.args]
    found = dict(zip(placed[len(placed) - len(a.defaults) :], a.defaults, strict=True))
    return found | {arg: value for arg, value in zip(a.kwonlyargs, a.kw_defaults, strict=True) if value is not None}


_STAR, BY_STAR = "*", "**"
"""Before the name of a module all of whose names are imported; before what may have come so from the project."""


class Names:
    """Bindings of one module by scope."""

    def __init__(
        self,
        tree: Tree,
        links: Mapping[tuple[ast.Module, str], ast.AST] | None = None,
        foreign: frozenset[str] = frozenset(),
        outside: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.tree = tree
        self.links = links or {}
        """(module, what a name stands for there) -> its `def` or `class` in an attached module."""
        self._foreign = foreign
        """Names that the module imports from its own project."""
        self._outside = outside
        """What the module imports of its project -> the library's name for it, where a library defines it."""
        self.asked: dict[str, None] = {}
        """What was asked for and is in another file that was not looked into, in the order of asking."""

    @cached_property
    def bindings(self) -> Bound:
        """scope -> name -> the nodes that bind it (Name, arg, alias, def, class, handler), in source order."""
        tree = self.tree
        if tree.own_bindings is None:
            tree.own_bindings = bindings_of(tree, tree.all)
        return {**tree.own_bindings, **bindings_of(tree, tree.attached)}

    @cached_property
    def taken(self) -> frozenset[str]:
        """Every name that the module binds or reads anywhere."""
        bound = {name for scope in self.bindings.values() for name in scope}
        return frozenset(bound | {name.id for name in self.tree.all(ast.Name)})

    def importing(self, name: str) -> list[ast.Import | ast.ImportFrom]:
        """The statements at the module's top level that import something as `name`."""
        return self._importing.get(name, [])

    @cached_property
    def _importing(self) -> dict[str, list[ast.Import | ast.ImportFrom]]:
        found: dict[str, list[ast.Import | ast.ImportFrom]] = {}
        for each in self.tree.root.body:
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                for alias in each.names:
                    found.setdefault(alias.asname or alias.name.partition(".")[0], []).append(each)
        return found

    def scope_of(self, name: str, node: ast.AST) -> Scope | None:
        """The scope whose binding of `name` is seen from `node`; None for builtins and unbound names."""
        tree, bindings = self.tree, self.bindings
        scope: Scope = tree.scope(node)
        first = True
        while True:
            if (first or not isinstance(scope, ast.ClassDef)) and name in bindings.get(scope, ()):
                return scope
            if isinstance(scope, ast.Module):
                return None
            scope, first = tree.scope(scope), False

    def bound(self, name: str, node: ast.AST) -> list[ast.AST]:
        """Every node that binds `name` in the scope seen from `node`."""
        scope = self.scope_of(name, node)
        return self.bindings[scope][name] if scope is not None else []

    @remembered
    def qualname(self, node: ast.AST) -> str:
        """The imported dotted name that an expression stands for, or "".

        `td.DataLoader` under `import torch.utils.data as td` is "torch.utils.data.DataLoader", and so is a variable
        that is bound to it. What has several public names is given by the one that tables know (`aliases.py`). A name
        bound nowhere is itself, or of the library whose star it came with. Anything bound to something else is "".
        """
        parts = dotted(node)
        if parts is None:
            return ""
        scope = self.scope_of(parts[0], node)
        if scope is None:
            first = self._starred(parts[0]) if self.stars else ""
            return known_as(".".join([first or parts[0], *parts[1:]]))
        full = self._module(parts[0], scope)
        if not full and len(parts) > 1:
            full = self._standing.in_class(parts[0], scope, parts.pop(1))
        path = ".".join([full, *parts[1:]]) if full else ""
        return known_as(self._from_outside(path) if self._outside else path)

    @remembered
    def _starred(self, name: str) -> str:
        """What a name that is bound nowhere stands for, if it came with all names of a module; "" if unknown."""
        found = from_star(self.stars, name)
        if found or _STAR not in self._foreign or hasattr(builtins, name):
            return found
        for path in self._by_stars(name):
            if path in self._outside:
                return self._outside[path]
            self.asked[_STAR + path] = None
        return ""

    def _from_outside(self, path: str) -> str:
        """The library's name for what a module of the project hands on."""
        for start, name in self._outside.items():
            if path == start or path.startswith(f"{start}."):
                return name + path[len(start) :]
        return path

    def called(self, node: ast.expr) -> str:
        """The last name of what an expression stands for; of what is no library's, the last name that is written."""
        name = self.qualname(node).rpartition(".")[2] if isinstance(node, ast.Name) else ""
        return name or last_name(node)

    @cached_property
    def stars(self) -> list[str]:
        """The modules all of whose names are imported, the last one first."""
        found = [each for each in self.tree.all(ast.ImportFrom) if each.names[0].name == "*"]
        return ["." * each.level + (each.module or "") for each in reversed(found)]

    @cached_property
    def _standing(self) -> Standing:
        return Standing(self)

    @remembered
    def _module(self, name: str, scope: Scope) -> str:
        """What a name of a scope is imported as; "" if it is bound to something else."""
        for each in self.bindings[scope][name]:
            if isinstance(each, ast.alias):
                full = self.imported(each)
                binds_top = not each.asname and isinstance(self.tree.parents[each], ast.Import)
                return full.partition(".")[0] if binds_top else full
        return self._standing.of(name, scope)

    def imported(self, alias: ast.alias) -> str:
        """The full dotted name of what an import names."""
        statement = self.tree.parents[alias]
        if not isinstance(statement, ast.ImportFrom):
            return alias.name
        module = "." * statement.level + (statement.module or "")
        return f"{module}.{alias.name}" if statement.module else module + alias.name

    @remembered
    def definition(self, node: ast.AST, networks: bool = False) -> ast.AST | None:
        """The `def` or `class` that a name stands for, if it is bound to nothing else: here, or where it is from.

        networks: look into another file even for what is a network by its name.
        """
        if isinstance(node, ast.Name):
            scope = self.scope_of(node.id, node)
            found, others = self._defs(node.id, scope) if scope is not None else (None, False)
            if found is not None:
                return None if others else found
        return self._elsewhere(node, networks) if isinstance(node, (ast.Name, ast.Attribute)) else None

    @remembered
    def _defs(self, name: str, scope: Scope) -> tuple[ast.AST | None, bool]:
        """The last `def` or `class` of a name in a scope, if any, and whether it is bound in other ways too."""
        bound = self.bindings[scope][name]
        found = [each for each in bound if isinstance(each, (*FUNCTIONS, ast.ClassDef))]
        return (found[-1] if found else None), len(found) < len(bound)

    def _elsewhere(self, node: ast.Name | ast.Attribute, networks: bool) -> ast.AST | None:
        """The `def` or `class` in another file; where nobody has looked yet, it is noted as asked for."""
        own = self.tree.is_own(node)
        if own:
            first: ast.expr = node
            while isinstance(first, ast.Attribute):
                first = first.value
            if isinstance(node, ast.Name) and _STAR in self._foreign and self.scope_of(node.id, node) is None:
                return self._with_all_names(node, networks)
            if not isinstance(first, ast.Name) or first.id not in self._foreign:
                return None
        qualname = self.qualname(node)
        found = self.links.get((self.tree.module_of(node), qualname))
        if found is None and own and "." in qualname and (networks or not _is_network(qualname)):
            self.asked[qualname] = None
        return found

    def _with_all_names(self, node: ast.Name, networks: bool) -> ast.AST | None:
        """The same of what is bound nowhere: it may have come with all names of a module, the last such one first.

        None if it may be of a library, of which nobody sees what it gives.
        """
        name = node.id
        for star, path in zip(self.stars, self._by_stars(name), strict=True) if not hasattr(builtins, name) else ():
            if _STAR + star not in self._foreign:
                if gives(star, name) is not False:
                    return None
                continue
            found = self.links.get((self.tree.root, path))
            if found is not None:
                return found
            if networks or not _is_network(path):
                self.asked[BY_STAR + path] = None
        return None

    def _by_stars(self, name: str) -> list[str]:
        """The dotted names that a name may stand for which came with all names of a module."""
        return [f"{star}{name}" if star.endswith(".") else f"{star}.{name}" for star in self.stars]

    @remembered
    def comprehension(self, name: ast.Name) -> ast.comprehension | None:
        """The generator of an enclosing comprehension that binds this name, if one does."""
        parents = self.tree.parents
        child: ast.AST = name
        up = parents[name]
        unbound: ast.comprehension | None = None  # what a generator goes over is read before it binds anything
        while not isinstance(up, (ast.stmt, ast.Lambda)):
            if isinstance(up, ast.comprehension) and child is up.iter:
                unbound = up
            for generator in reversed(_bound_at(child, up)):
                if generator is not unbound and any(
                    isinstance(n, ast.Name) and n.id == name.id for n in ast.walk(generator.target)
                ):
                    return generator
            child, up = up, parents[up]
        return None

    @cached_property
    def imports(self) -> frozenset[str]:
        """Top-level names of all imported packages ("torch", "cv2"); relative imports are left out."""
        found: set[str] = set()
        for statement in self.tree.all(ast.Import):
            found.update(alias.name.partition(".")[0] for alias in statement.names)
        for each in self.tree.all(ast.ImportFrom):
            if not each.level and each.module:
                found.add(each.module.partition(".")[0])
        return frozenset(found)


def hands_over(call: ast.Call, name: str) -> bool:
    """Whether what a variable holds is handed to a function that is none of Python's own: `keep(self, out)`."""
    if isinstance(call.func, ast.Name) and hasattr(builtins, call.func.id):
        return False
    given = (*call.args, *(each.value for each in call.keywords))
    return any(isinstance(each, ast.Name) and each.id == name for each in given)
