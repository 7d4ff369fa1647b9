"""Objects that hook a module where they are made, could remove the hook, and are let go of without it.

`hook = Hook(self.net.embedding)`, and no `hook.close()`: the module holds the hook, and by that the object, when the
function is over. The next call of the function adds another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.bounds import quietly
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.hooks import all_registrations, giver, takes_out
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ONCE = ("__init__", "main")
"""Functions that are called once for each object, or program."""
_BY_ITSELF = frozenset({"__del__", "__exit__", "__aexit__"})
"""Methods that nobody calls by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Unclosed:
    """made: what makes the object; name: the variable that it is bound to; hooked: the module; registered: the call in
    its class that hooks it; closing: the method that would remove the hook."""

    made: ast.Call
    name: str
    hooked: ast.expr
    registered: ast.Call
    closing: str


def unclosed(module: Module) -> Iterator[Unclosed]:
    """The objects of the file that a function makes, and leaves hooked onto a module that lives on; each once.

    Not where hooks are taken out by hand, or one removes itself.
    """
    told: set[ast.Call] = set()
    for call in all_registrations(module) if not takes_out(module.source.text) else ():
        builder, owner = module.tree.function(call), module.classes.around(call)
        if builder is None or owner is None or builder.name != "__init__" or not isinstance(call.func, ast.Attribute):
            continue
        with quietly(module):  # what the rule does not find by itself, nobody misses
            given, closing = giver(module, call.func.value), _closing(module, owner)
        hook = module.classes.self_attribute(call.args[0])
        if (
            given is None
            or not closing
            or not _BY_ITSELF.isdisjoint(closing)
            or (hook is not None and hook[1] in closing)
        ):
            continue
        for made in module.classes.own_calls(owner.node.name):
            hooked = module.classes.argument(made, given, builder) if module.classes.of(made.func) is owner else None
            name = _bound(module, made)
            if made in told or hooked is None or not name or not _lives_on(module, hooked):
                continue
            if _is_let_go(module, made, name, {*closing, *_handles(owner)}):
                told.add(made)
                yield Unclosed(made, name, hooked, call, closing[0])


def _closing(module: Module, owner: ClassFacts) -> list[str]:
    """The methods of a class that remove something, themselves or by another one: `self.handle.remove()`."""
    found = [name for name, method in owner.methods.items() if name != "__init__" and _removes(module, method)]
    for name in found:
        for other, method in owner.methods.items():
            called = (module.classes.self_attribute(each.func) for each in module.tree.calls(method))
            if other not in (*found, "__init__") and any(each is not None and each[1] == name for each in called):
                found.append(other)
    return found


def _removes(module: Module, method: FunctionNode) -> bool:
    return any(last_name(each.func) == "remove" and not each.args for each in module.tree.calls(method))


def _handles(owner: ClassFacts) -> set[str]:
    """The attributes that hold what a registration gives."""
    return {
        key.removeprefix("self.")
        for key, bound in owner.attributes.items()
        if any("register_" in ast.unparse(each.value) for each in bound if each.value is not None)
    }


def _bound(module: Module, made: ast.Call) -> str:
    """The variable of a function that an object is bound to, and nothing else; not where another object is made."""
    statement, function = module.tree.statement(made), module.tree.function(made)
    if (
        function is None
        or function.name in _ONCE
        or not isinstance(statement, ast.Assign)
        or statement.value is not made
    ):
        return ""
    target = statement.targets[0]
    return target.id if len(statement.targets) == 1 and isinstance(target, ast.Name) else ""


def _lives_on(module: Module, hooked: ast.expr) -> bool:
    """Whether a module is there before the function is called, and after: its object's, an argument's, the file's."""
    root = hooked
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    ways = module.flow.reaching(root.id, root)
    return not ways or all(each.how is How.PARAMETER for each in ways)


def _is_let_go(module: Module, made: ast.Call, name: str, closing: set[str]) -> bool:
    """Whether a function only asks for attributes of an object, and closes it by none of its methods."""
    function: FunctionNode | None = module.tree.function(made)
    assert function is not None
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
            continue
        up = module.tree.parents[node]
        if not isinstance(up, ast.Attribute) or up.attr in closing or module.tree.function(node) is not function:
            return False
    return not any(key_of(each.func) == name for each in module.tree.calls(function))
