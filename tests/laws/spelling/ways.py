"""Ways to reach what a library defines. A law writes every use of a library's name in a program in its way.

The programs name libraries in full, by `import torch`: what another way binds, or leaves out, is written by the law.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flake8_torchleak.model.aliases import ALIASES
from flake8_torchleak.model.starred import from_star
from tests.laws.program import FUNCTIONS, Law, Program, expression, instead, lines, replaced

LIB = "lib"
"""Another module of the project."""


@dataclass
class Names:
    """The library names that a program uses, and one for each that nothing in it has."""

    program: Program
    paths: list[str]

    def other(self, path: str) -> str:
        """A name that says nothing of what it stands for."""
        return f"thing{self.paths.index(path)}"


def used(program: Program) -> Names:
    """The dotted names that start at an imported module, whole, in the order of the text."""
    roots = set(_roots(program))
    found: dict[str, None] = {}

    def note(node: ast.expr) -> ast.expr | None:
        path = dotted(node)
        if "." in path and path.split(".")[0] in roots:
            found[path] = None
        return node if path else None

    replaced(program.tree, note)
    return Names(program, list(found))


def dotted(node: ast.AST) -> str:
    """ "torch.nn.Linear" for the expression; "" for what is no dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def written(program: Program, change: Callable[[str], str | None], root: ast.AST | None = None) -> int:
    """Write library names in another way: `change` gives the expression for one, or None to leave it."""
    known = set(used(program).paths)
    count = 0

    def swap(node: ast.expr) -> ast.expr | None:
        nonlocal count
        path = dotted(node)
        new = change(path) if path in known else None
        if new is not None:
            count += 1
            return expression(new)
        return node if path else None

    replaced(root if root is not None else program.tree, swap)
    return count


def before(program: Program, text: Iterable[str], only: bool = False) -> None:
    """Write lines behind the imports; only: in the place of imports."""
    if only:
        program.tree.body = [each for each in program.tree.body if not isinstance(each, ast.Import)]
    program.after_imports(lines("\n".join(text)))


_MODULES = {known.rpartition(".")[0] for pair in ALIASES.items() for known in pair} | {
    "torch.cuda",
    "torch.optim",
    "matplotlib.pyplot",
}


def split(path: str) -> tuple[str, str]:
    """The module of a path, and the rest: "torch.nn", "Module.eval"."""
    parts = path.split(".")
    count = next((n for n in range(len(parts) - 1, 1, -1) if ".".join(parts[:n]) in _MODULES), 1)
    return ".".join(parts[:count]), ".".join(parts[count:])


def _bound(write: Callable[[str, str, str], str], only: bool = False) -> Law:
    """A law by which a line at the top binds each name: of its module, the name there, and a new name."""

    def law(program: Program) -> int:
        names = used(program)
        text = []
        for path in names.paths:
            module, rest = split(path)
            first = rest.partition(".")[0]
            text.append(write(module, first, names.other(path)))
        known = {path: ".".join([names.other(path), *path.split(".")[_depth(path) :]]) for path in names.paths}
        count = written(program, known.get)
        before(program, text, only)
        return count

    return law


def _depth(path: str) -> int:
    """How many parts of a path name its module and what stands there."""
    return split(path)[0].count(".") + 2


renamed_import = _bound(lambda module, name, new: f"from {module} import {name} as {new}", only=True)
module_alias = _bound(lambda module, name, new: f"import {module}; {new} = {module}.{name}")
fetched = _bound(lambda module, name, new: f'import {module}; {new} = getattr({module}, "{name}")')
imported_by_name = _bound(
    lambda module, name, new: f'import importlib; {new} = importlib.import_module("{module}").{name}', only=True
)
tried = _bound(
    lambda module, name, new: f"try:\n    from {module} import {name} as {new}\nexcept ImportError:\n    {new} = None",
    only=True,
)
chosen = _bound(
    lambda module, name, new: (
        "import sys\n"
        f"if sys.version_info >= (3, 9):\n    from {module} import {name} as {new}\n"
        f"else:\n    from {module} import {name} as {new}"
    ),
    only=True,
)
hoped = _bound(
    lambda module, name, new: f'import {module}\n{new} = {module}.{name} if hasattr({module}, "{name}") else None'
)


def renamed_module(program: Program) -> int:
    """`import torch as module`, and of its modules the same."""
    names = used(program)
    modules = {path: split(path) for path in names.paths}
    new = {module: f"lib{number}" for number, module in enumerate(dict.fromkeys(m for m, _ in modules.values()))}
    count = written(program, lambda path: f"{new[modules[path][0]]}.{modules[path][1]}")
    before(program, [f"import {module} as {name}" for module, name in new.items()], only=True)
    return count


def plain_import(program: Program) -> int:
    """`from torch.nn import Linear`, under its own name; where two have the same, the first."""
    taken: dict[str, str] = {}
    for path in used(program).paths:
        module, rest = split(path)
        taken.setdefault(rest.split(".")[0], module)
    count = written(
        program, lambda path: split(path)[1] if taken[split(path)[1].split(".")[0]] == split(path)[0] else None
    )
    before(program, [f"from {module} import {name}" for name, module in taken.items()])
    return count


def starred_library(program: Program) -> int:
    """`from torch.nn import *`, for what comes with it."""
    modules = {path: split(path) for path in used(program).paths}
    coming = [p for p, (module, rest) in modules.items() if from_star([module], rest.split(".")[0])]
    count = written(program, lambda path: split(path)[1] if path in coming else None)
    before(program, dict.fromkeys(f"from {split(path)[0]} import *" for path in coming))
    return count


def local_alias(program: Program) -> int:
    """A variable of the function that uses it."""
    return _local(program, lambda module, name, new: f"{new} = {module}.{name}")


def local_import(program: Program) -> int:
    """An import in the function that uses it."""
    return _local(program, lambda module, name, new: f"from {module} import {name} as {new}")


def _local(program: Program, write: Callable[[str, str, str], str]) -> int:
    names = used(program)
    count = 0
    for function in [each for each in ast.walk(program.tree) if isinstance(each, FUNCTIONS)]:
        inside: dict[str, None] = {}

        def change(path: str) -> str:
            inside[path] = None  # noqa: B023
            return ".".join([names.other(path), *path.split(".")[_depth(path) :]])

        body = ast.Module(function.body, [])
        count += written(program, change, body)
        text = [write(split(path)[0], split(path)[1].split(".")[0], names.other(path)) for path in inside]
        function.body = [*(instead(each, function) for each in lines("\n".join(text))), *body.body]
    return count


def class_attribute(program: Program) -> int:
    """An attribute of a class of the file."""
    names = used(program)
    text = ["class Tools:"]
    for path in names.paths:
        module, rest = split(path)
        text.append(f"    {names.other(path)} = {module}.{rest.split('.')[0]}")
    count = written(program, lambda path: "Tools." + ".".join([names.other(path), *path.split(".")[_depth(path) :]]))
    if count:
        before(program, text)
    return count


def by_partial(program: Program) -> int:
    """What is called is a `functools.partial` of it."""
    called = {dotted(each.func) for each in ast.walk(program.tree) if isinstance(each, ast.Call)}
    names = used(program)
    known = [path for path in names.paths if path in called]
    count = 0

    class Swap(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            nonlocal count
            self.generic_visit(node)
            if dotted(node.func) in known:
                node.func = instead(expression(names.other(dotted(node.func))), node.func)
                count += 1
            return node

    Swap().visit(program.tree)
    if count:
        before(program, ["import functools", *(f"{names.other(path)} = functools.partial({path})" for path in known)])
    return count


# -- through another module of the project ------------------------------------------------------------------


def starred_module(program: Program) -> int:
    """`from lib import *` of a module that imports the libraries."""
    roots = _roots(program)
    if roots:
        program.others[f"{LIB}.py"] = _imports(program)
        before(program, [f"from {LIB} import *"], only=True)
    return len(roots)


def handed_module(program: Program) -> int:
    """`from lib import torch`."""
    roots = _roots(program)
    if roots:
        program.others[f"{LIB}.py"] = _imports(program)
        before(program, [f"from {LIB} import {', '.join(roots)}"], only=True)
    return len(roots)


def through_module(program: Program) -> int:
    """`lib.torch.no_grad`."""
    program.others[f"{LIB}.py"] = _imports(program)
    count = written(program, lambda path: f"{LIB}.{path}")
    before(program, [f"import {LIB}"], only=True)
    return count


def _roots(program: Program) -> list[str]:
    """The packages that are imported."""
    names = [a.name for each in program.tree.body if isinstance(each, ast.Import) for a in each.names]
    return list(dict.fromkeys(each.partition(".")[0] for each in names))


def _imports(program: Program) -> str:
    """The imports of a program, as text."""
    return "".join(f"{ast.unparse(each)}\n" for each in program.tree.body if isinstance(each, ast.Import))


def _handed(files: dict[str, Callable[[str, str, str], str]], take: str = f"from {LIB} import {{}}") -> Law:
    """A law by which other files bind each name, a line for each, from where it is imported."""

    def law(program: Program) -> int:
        names = used(program)
        for path, write in files.items():
            text = [write(split(p)[0], split(p)[1].split(".")[0], names.other(p)) for p in names.paths]
            program.others[path] = "".join(f"{line}\n" for line in text)
        count = written(program, lambda p: ".".join([names.other(p), *p.split(".")[_depth(p) :]]))
        text = [take.format(", ".join(names.other(p) for p in names.paths))] if count else []
        before(program, [*text, "import torch"], only=True)
        return count

    return law


_FROM: Callable[[str, str, str], str] = lambda module, name, new: f"from {module} import {name} as {new}"  # noqa: E731
handed_name = _handed({f"{LIB}.py": _FROM})
starred_name = _handed({f"{LIB}.py": _FROM}, f"from {LIB} import *")
handed_alias = _handed({f"{LIB}.py": lambda module, name, new: f"import {module}; {new} = {module}.{name}"})
starred_alias = _handed(
    {f"{LIB}.py": lambda module, name, new: f"import {module}; {new} = {module}.{name}"}, f"from {LIB} import *"
)
reexported = _handed(
    {f"{LIB}/names.py": _FROM, f"{LIB}/__init__.py": lambda module, name, new: f"from .names import {new}"}
)
reexported_stars = _handed(
    {f"{LIB}/names.py": _FROM, f"{LIB}/__init__.py": lambda module, name, new: "from .names import *"},
    f"from {LIB} import *",
)


# -- other public paths -------------------------------------------------------------------------------------


_OTHERS: dict[str, list[str]] = {}
for _other, _known in ALIASES.items():
    _OTHERS.setdefault(_known, []).append(_other)


def other_path(number: int) -> Law:
    """A law by which each object is reached by its other public path of this number."""

    def law(program: Program) -> int:
        modules: dict[str, None] = {}

        def change(path: str) -> str | None:
            whole, part = path, ""
            if whole not in _OTHERS:
                whole, _, part = path.rpartition(".")
            others = _OTHERS.get(whole, [])
            if number >= len(others):
                return None
            modules[split(others[number])[0]] = None
            return f"{others[number]}.{part}" if part else others[number]

        count = written(program, change)
        before(program, [f"import {each}" for each in modules])
        return count

    return law


WAYS: dict[str, Law] = {
    each: globals()[each]
    for each in (
        "renamed_module", "renamed_import", "plain_import", "module_alias", "fetched", "imported_by_name", "tried",
        "chosen", "hoped", "starred_library", "local_alias", "local_import", "class_attribute", "by_partial",
        "starred_module", "handed_module", "through_module", "handed_name", "starred_name", "handed_alias",
        "starred_alias", "reexported", "reexported_stars",
    )
} | {f"other_path{number}": other_path(number) for number in range(3)}  # fmt: skip
