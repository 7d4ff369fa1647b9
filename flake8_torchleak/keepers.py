"""The attributes of an object that keep something from call to call, and who lets go of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.bindings import container_of
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tree import FunctionNode

_MOST_LEVELS = 4
"""Methods that call the method that calls another one."""
_RESETS = frozenset({"zero_", "fill_", "copy_", "detach_", "clear", "normal_", "pop", "popleft"})
"""Methods after which nothing is left of what a tensor or a container held."""


def is_let_go(module: Module, kept: Kept) -> bool:
    """Whether a method other than the constructor, or code outside of classes, binds anew or empties what keeps it."""
    if _takes_turns(module, kept):
        return True
    attributes = set(_kept_by(module, kept))
    at = kept.at if kept.at in module.tree.parents else kept.node  # a helper of another file keeps it
    putting_back = _putting_back(module, kept, at)
    for node in _of_object(module, attributes, at):
        if node is kept.target:
            continue
        parent, function = module.tree.parents[node], module.tree.function(node)
        if function is not None and _makes(module, function, _MOST_LEVELS):
            continue
        if not isinstance(node.ctx, ast.Load) and module.tree.statement(node) is not at:
            anew = function not in putting_back or _is_emptied(module, node)
            if anew and (kept.how != "state" or _is_elsewhere(module, node, at)):
                return True
        if isinstance(parent, ast.Attribute) and parent.attr in _RESETS:
            return True
        if isinstance(kept.target, ast.Subscript) and _has_entry_anew(module, node, at):
            return True
    return False


def _has_entry_anew(module: Module, node: ast.Attribute, at: ast.AST) -> bool:
    """Whether another function sets an entry of an attribute to what is not made of it: `self.states[i] = zeros(n)`."""
    parent, statement = module.tree.parents[node], module.tree.statement(node)
    is_set = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store) and parent.value is node
    if not is_set or not isinstance(statement, ast.Assign) or module.tree.function(node) is module.tree.function(at):
        return False
    return all(getattr(each, "attr", "") != node.attr for each in ast.walk(statement.value))


def _is_emptied(module: Module, node: ast.Attribute) -> bool:
    """Whether an attribute is set to None, or another constant."""
    return isinstance(getattr(module.tree.statement(node), "value", None), ast.Constant)


def _makes(module: Module, function: FunctionNode, levels: int) -> bool:
    """Whether a method is the constructor, or only a part of it: `reset_running_stats`, that nothing else calls."""
    if function.name == "__init__" or not levels:
        return function.name == "__init__"
    calls = [module.tree.function(each) for each in module.classes.calls_of(function)]
    return bool(calls) and all(each is not None and _makes(module, each, levels - 1) for each in calls)


def _takes_turns(module: Module, kept: Kept) -> bool:
    """Whether an entry is made of other entries alone: `sums[i] = sums[i - 1] + x`, begun anew in each call."""
    target = kept.target
    if not isinstance(target, ast.Subscript) or kept.at not in module.tree.parents:
        return False
    held, own = ast.unparse(target.value), ast.unparse(target.slice)
    value = getattr(module.tree.statement(kept.at), "value", None)
    reads = [each for each in ast.walk(value or target.slice) if isinstance(each, ast.Attribute)]
    parts = [module.tree.parents[each] for each in reads if ast.unparse(each) == held]
    return bool(parts) and all(isinstance(each, ast.Subscript) and ast.unparse(each.slice) != own for each in parts)


def _putting_back(module: Module, kept: Kept, at: ast.AST) -> set[FunctionNode | None]:
    """The functions that may put a sum in a variable back into the attribute that it was read from."""
    if kept.how == "state" or not variable(kept):
        return set()
    return {module.tree.function(each) for each in (at, kept.node, *kept.calls) if each in module.tree.parents}


def _of_object(module: Module, attributes: set[str], at: ast.AST) -> Iterator[ast.Attribute]:
    """Where such attributes of the object that a method belongs to are read or set, or may be, from outside."""
    around = module.classes.around(at)
    for node in module.tree.all(ast.Attribute):
        if node.attr in attributes:
            owner = module.classes.self_attribute(node)
            if owner is None or around is None or around in owner[0].lineage or owner[0] in around.lineage:
                yield node


def _is_elsewhere(module: Module, node: ast.Attribute, at: ast.AST) -> bool:
    """Whether a state is bound by another method than goes on with it, or where a flag says so that another sets."""
    here = module.tree.function(node)
    if here is not module.tree.function(at):
        return True
    tests = [each.test for each in module.tree.ancestors(node) if isinstance(each, ast.If)]
    flags = {each.attr for test in tests for each in ast.walk(test) if isinstance(each, ast.Attribute)} - {node.attr}
    stores = (each for each in _of_object(module, flags, at) if isinstance(each.ctx, ast.Store))
    setting = (module.tree.function(each) for each in stores)
    return any(function is None or (function is not here and function.name != "__init__") for function in setting)


def _kept_by(module: Module, kept: Kept) -> Iterator[str]:
    """The attributes that keep it: what is set, or what the call sets whose state it is."""
    target = container_of(kept.target)[0] if kept.target is not None else None
    if isinstance(target, ast.Attribute):
        yield target.attr
    elif kept.how != "state":
        yield from (name for name in kept.places if isinstance(name, str) and name.isidentifier())
        yield from given_to(module, variable(kept), kept.at)
        yield from _taken_from(module, variable(kept), kept.at)
    else:
        statement = module.tree.statement(kept.at) if kept.at in module.tree.parents else None
        for node in ast.walk(statement) if isinstance(statement, ast.Assign) else ():
            stored = node.value if isinstance(node, ast.Subscript) else node
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                yield from [stored.attr] if isinstance(stored, ast.Attribute) else ()
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):  # `h, c = self.state` above
                made = [each.value for each in module.flow.reaching(node.id, node)]
                yield from (each.attr for each in made if isinstance(each, ast.Attribute))


def variable(kept: Kept) -> str:
    """The variable that keeps something, itself or in a list or dict that it is; "" for an attribute."""
    inner = container_of(kept.target)[0] if kept.target is not None else None
    return inner.id if isinstance(inner, ast.Name) else ""


def _assigned(module: Module, name: str, at: ast.AST) -> Iterator[ast.Assign]:
    """The assignments of the function that a variable is of; none if it has no name."""
    function = module.tree.function(at) if name and at in module.tree.parents else None
    for node in module.tree.within(function) if function is not None else ():
        if isinstance(node, ast.Assign):
            yield node


def given_to(module: Module, name: str, at: ast.AST) -> Iterator[str]:
    """The attributes of its object that a function makes of a variable: `self.hidden = [hx, cx]`."""
    for node in _assigned(module, name, at):
        if any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node.value)):
            yield from filter(None, (attribute(module, each) for each in node.targets))


def _taken_from(module: Module, name: str, at: ast.AST) -> Iterator[str]:
    """The attributes of its object that a function binds a variable to, or to an entry of: `state = self.states[i]`."""
    for node in _assigned(module, name, at):
        if any(isinstance(each, ast.Name) and each.id == name for each in node.targets):
            yield from filter(None, [attribute(module, container_of(node.value)[0])])


def attribute(module: Module, node: ast.AST) -> str:
    """The attribute of its object that an expression in a method is; "" for any other."""
    owned = module.classes.self_attribute(node)
    return owned[1] if owned is not None else ""
