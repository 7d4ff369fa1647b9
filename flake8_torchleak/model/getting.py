"""How a program gets attributes of objects by names that it works out: then any method may be run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.model.names import last_name

GETTING = ("getattr(", "attrgetter(", "methodcaller(", "eval(", "exec(")
_BY_NAME = re.compile(
    r"\b(?:getattr|attrgetter|methodcaller)\((?!\s*[\w.\[\]]+\s*,\s*[\"'])|(?<!def )(?<![\w.])(?:eval|exec)\("
)
"""How a program gets an attribute by a name that it works out: with one of the words above."""
_OWN = re.compile(
    r"^(?:async[ \t]+)?def[ \t]+(eval|exec)[ \t]*\(|^from[ \t]+\S+[ \t]+import[ \t][^\n#]*\b(eval|exec)\b", re.MULTILINE
)
"""Functions of a module that have the names of such built-in ones."""
_BY_OTHERS = re.compile(r"\b(?:attrgetter|methodcaller)\((?!\s*[\"'])|(?<!def )(?<![\w.])exec\(")
"""The same, but for `getattr` and `eval`."""
_EVALUATING = re.compile(r"(?<!def )(?<![\w.])eval\(")
_OF_OBJECT = re.compile(r"(?:^|[\w)\]])\.(?:$|[A-Za-z_])")
"""What stands in a text that names an attribute of an object: `f"self.{name}"`, `"net.run()"`."""
_BEGUN = re.compile(r"^\S*[\w)\]]\.(?:$|[%{]\S*$)")
"""A string out of which such a text may be made: `"self." + name`, `"net.%s()"`."""


def gets_by_name(root: ast.Module, text: str) -> bool:
    """Whether a file gets attributes of objects by names that it works out.

    Not of modules, which are no objects of a class, nor by the words of a tuple or list, which stand in the file.
    """
    if _BY_NAME.search(text) is None:
        return False
    text = without_own(text)
    known = set(_imported(root))
    if _BY_OTHERS.search(text) is not None or _evaluates_attributes(root, text):
        return True
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "getattr"
        and len(node.args) > 1
        and not (isinstance(node.args[0], ast.Name) and node.args[0].id in known)
        and not _is_of_words(root, node.args[1])
        for node in ast.walk(root)
    )


def _evaluates_attributes(root: ast.Module, text: str) -> bool:
    """Whether a file evaluates text that may name an attribute: `eval(options.model)` gives a name of the file.

    What it is given may be put together anywhere in the file, of a part that ends in a dot.
    """
    if _EVALUATING.search(text) is None:
        return False
    calls = [each for each in ast.walk(root) if isinstance(each, ast.Call) and last_name(each.func) == "eval"]
    given = [each for call in calls for arg in call.args[:1] for each in ast.walk(arg)]
    if any(isinstance(each, ast.Constant) and _OF_OBJECT.search(str(each.value)) for each in given):
        return True
    strings = (each.value for each in ast.walk(root) if isinstance(each, ast.Constant))
    return any(isinstance(each, str) and _BEGUN.search(each) for each in strings)


def without_own(text: str) -> str:
    """A text without calls of functions of its own that are called `eval` or `exec`, which evaluate networks."""
    own = {name for names in _OWN.findall(text) for name in names if name}
    return re.sub(rf"(?<![\w.])(?:{'|'.join(sorted(own))})\(", "(", text) if own else text


def _imported(root: ast.Module) -> Iterator[str]:
    """The names that `import` gives to modules."""
    for node in ast.walk(root):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)


def _is_of_words(root: ast.Module, name: ast.expr) -> bool:
    """Whether an expression is a string, or a variable that only goes over tuples or lists of them."""
    if isinstance(name, ast.Constant):
        return True
    if not isinstance(name, ast.Name):
        return False
    loops = [
        each
        for each in ast.walk(root)
        if isinstance(each, (ast.For, ast.comprehension)) and _is_variable(each.target, name.id)
    ]
    return 0 < len(loops) == _bindings(root, name.id) and all(_are_words(root, each.iter) for each in loops)


def _are_words(root: ast.Module, value: ast.expr) -> bool:
    """Whether an expression is a tuple or list of strings, or a variable that is bound once, to one."""
    if isinstance(value, ast.Name):
        assigned = (each for each in ast.walk(root) if isinstance(each, ast.Assign))
        bound = [each.value for each in assigned if any(_is_variable(target, value.id) for target in each.targets)]
        if len(bound) != 1 or _bindings(root, value.id) > 1:
            return False
        value = bound[0]
    return isinstance(value, (ast.Tuple, ast.List)) and all(isinstance(each, ast.Constant) for each in value.elts)


def _is_variable(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _bindings(root: ast.Module, name: str) -> int:
    """How often a file binds a variable or parameter of that name, in any scope."""
    return sum(
        each.arg == name
        if isinstance(each, ast.arg)
        else isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
        for each in ast.walk(root)
    )
