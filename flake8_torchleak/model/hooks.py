"""Forward and backward hooks: where they are registered, what they collect, and whom they outlive."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import GROWING, Definition, How, container_of
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.emptying import empties_parts
from flake8_torchleak.model.hookfactories import handed_over
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.stores import is_bounded
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Hook = FunctionNode | ast.Lambda

_REGISTERS = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook",
)  # fmt: skip
_TAKEN_OUT = re.compile(r"_(?:forward|backward)(?:_pre)?_hooks\b")
"""The dicts in which a module keeps its hooks: whoever names them takes hooks out by hand."""
_REMOVES = re.compile(r"\.remove\(\s*\)")
_COLLECTS = GROWING - {"setitem", "update", "setdefault"}
_EMPTIES = frozenset({"clear", "pop", "popleft", "del"})
_SMALL = frozenset({
    "item", "size", "numel", "shape", "dim", "dtype", "mean", "sum", "norm", "std", "max", "min", "type", "__class__",
    "nelement", "var", "device", "argmax", "element_size",
})  # fmt: skip
_COPIES = frozenset({"deepcopy", "copy"})
"""What gives another module, whose hooks go with it."""
_MOST_PARTS = 30


def registrations(module: Module) -> list[ast.Call]:
    """The calls that register a hook on a module.

    Where a hook is removed anywhere in the file, only those whose handle is thrown away: nothing can remove these.
    """
    if takes_out(module.source.text):
        return []
    removed = module.classes.own_calls("remove")
    removes = any(isinstance(call.func, ast.Attribute) and not call.args for call in removed)
    found = all_registrations(module)
    if removes:
        found = [call for call in found if isinstance(module.tree.parents[call], ast.Expr)]
    return found


def all_registrations(module: Module) -> list[ast.Call]:
    """The calls that register a hook on a module, tests left out."""
    found = [call for call in module.classes.own_calls(*_REGISTERS) if call.args]
    return [call for call in found if not any(f.name.startswith("test") for f in functions_around(module, call))]


def takes_out(text: str) -> bool:
    """Whether a text names the dicts in which a module keeps its hooks."""
    return _TAKEN_OUT.search(text) is not None


def may_remove(text: str) -> bool:
    """Whether a file's text removes hooks, by their handles or by hand."""
    return _REMOVES.search(text) is not None or _TAKEN_OUT.search(text) is not None


def functions_around(module: Module, node: ast.AST) -> list[FunctionNode]:
    """The functions that a node stands in, innermost first."""
    return [up for up in module.tree.ancestors(node) if isinstance(up, FUNCTIONS)]


def handed_on(module: Module, function: FunctionNode, parameter: ast.arg) -> tuple[ast.Call, ast.expr] | None:
    """The only call of a function in the file, and what it hands over for a parameter."""
    calls = module.classes.calls_of(function)
    given = module.classes.argument(calls[0], parameter, function) if len(calls) == 1 else None
    return (calls[0], given) if given is not None else None


def method_behind(module: Module, node: ast.expr) -> FunctionNode | None:
    """The method that an attribute is: of the object itself, or in a function that one method hands that object."""
    owned = module.classes.self_attribute(node)
    if owned is not None:
        return owned[0].methods.get(owned[1]) or _below(module, *owned)
    function = module.tree.function(node)
    if not isinstance(node, ast.Attribute) or function is None or module.classes.around(function) is not None:
        return None
    given = giver(module, node.value) if isinstance(node.value, ast.Name) else None
    handed = handed_on(module, function, given) if given is not None else None
    if handed is None or not isinstance(handed[1], ast.Name):
        return None
    owner, caller = module.classes.around(handed[0]), module.tree.function(handed[0])
    is_self = caller is not None and self_name(caller) == handed[1].id
    return owner.methods.get(node.attr) if owner is not None and is_self else None


def _below(module: Module, owner: ClassFacts, name: str) -> FunctionNode | None:
    """The method of this name that a class of the file has that derives from this one: the first, if there are more."""
    classes = (each for each in module.classes.own if owner in each.lineage)
    return next((each.own_methods[name] for each in classes if name in each.own_methods), None)


def giver(module: Module, node: ast.expr) -> ast.arg | None:
    """The parameter that a module comes from, by itself or as one of the modules inside it."""
    stack: list[ast.expr] = [node]
    for _ in range(_MOST_PARTS):
        if not stack:
            break
        each = stack.pop()
        attribute = module.classes.self_attribute(each)
        if attribute is not None:
            found = attribute[0].attributes.get(f"self.{attribute[1]}", [])
        elif isinstance(each, ast.Name):
            found = module.flow.reaching(each.id, each)
        else:
            stack += wholes(each)
            continue
        for definition in found:
            if isinstance(definition.node, ast.arg):
                return definition.node
            stack += _source(definition)
    if stack:
        leave_out(module, node, f"what is hooked comes through more than {_MOST_PARTS} expressions")
    return None


def _source(definition: Definition) -> list[ast.expr]:
    fits = definition.value is not None and definition.how in (How.ASSIGN, How.ITERATE)
    return [definition.value] if fits and definition.value is not None else []


def wholes(node: ast.expr) -> list[ast.expr]:
    """What a module may be a part of: `model` of `model.layer4`, `dict(model.named_modules())[k]`, `find(model, k)`."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return [node.value]
    if isinstance(node, ast.Call) and last_name(node.func) not in _COPIES:
        return [node.func.value] if isinstance(node.func, ast.Attribute) and not node.args else node.args[:1]
    return []


def behind(module: Module, node: ast.expr) -> list[Hook]:
    """The function behind a hook argument: by name, a method, a lambda, or what a factory of the file returns."""
    if isinstance(node, ast.Lambda):
        return [node]
    if isinstance(node, ast.Call) and last_name(node.func) == "partial" and node.args:
        return behind(module, node.args[0])
    if isinstance(node, ast.Call):
        factory = module.classes.callee(node) or method_behind(module, node.func)
        inner = module.tree.within(factory) if factory is not None else []
        returned = [each.value for each in inner if isinstance(each, ast.Return)]
        return [hook for each in returned if each is not None and each is not node for hook in _plain(module, each)]
    return _plain(module, node)


def _plain(module: Module, node: ast.expr) -> list[Hook]:
    if isinstance(node, ast.Lambda):
        return [node]
    found = method_behind(module, node) or module.names.definition(node)
    return [found] if isinstance(found, FUNCTIONS) else []


def collects(module: Module, hook: Hook) -> tuple[str, ast.expr, ast.expr | ast.stmt] | None:
    """(container, value, node) where the hook adds what it is given to a container that outlives it."""
    for each in given_to(module, hook):
        if _is_limited(module, each[0], each[2]):
            continue
        handed = handed_over(module, hook, each[0], each[1])
        if handed is not None and not any(_is_emptied(module, key) for key in (each[0], *handed)):
            return each
    return None


def left_full(module: Module, call: ast.Call) -> list[tuple[str, ast.expr, ast.expr | ast.stmt, str]]:
    """What the hooks of an object add to one of its lists, where the object empties another one that they fill.

    (container, value, node, the container that is emptied): whoever thought of the one forgot the other.
    """
    owner = module.classes.around(call)
    if owner is None:
        return []
    calls = [each for each in module.classes.own_calls(*_REGISTERS) if module.classes.around(each) is owner]
    hooks = dict.fromkeys(hook for each in calls if each.args for hook in behind(module, each.args[0]))
    found = [each for hook in hooks for each in given_to(module, hook) if each[0].startswith("self.")]
    emptied = [key for key, _, _ in found if _is_emptied(module, key)]
    full = [each for each in found if each[0] not in emptied and not _is_limited(module, each[0], each[2])]
    return [(*each, emptied[0]) for each in full if emptied]


def given_to(module: Module, hook: Hook) -> Iterator[tuple[str, ast.expr, ast.expr | ast.stmt]]:
    """(container, value, node) where the hook adds what it is given to a container that is not its own."""
    given = {each.arg for each in parameters(hook)} - {"self", "module", "m"}
    for key, changes in module.flow.mutations(hook).items():
        head = key.partition(".")[0]
        outer = key.startswith("self.") or module.names.scope_of(head, hook) not in (None, hook)
        if not outer or key in module.flow.definitions(hook):
            continue
        for change in changes:
            value = change.value
            if change.method in _COLLECTS and value is not None and _is_given(module, value, given):
                yield key, value, change.node


def _is_given(module: Module, node: ast.expr, given: set[str]) -> bool:
    """Whether a value is what the hook was given: itself, a part or a method's result of its size, or a copy."""
    stack = [node]
    seen: set[ast.expr] = {node}
    for _ in range(_MOST_PARTS):
        if not stack:
            break
        each = stack.pop()
        if isinstance(each, ast.Name):
            if each.id in given:
                return True
            values = [d.value for d in module.flow.reaching(each.id, each)]
            stack += [value for value in values if value is not None and value not in seen]
            seen.update(stack)
        elif isinstance(each, (ast.Subscript, ast.Starred)):
            stack.append(each.value)
        elif isinstance(each, ast.Attribute) and each.attr not in _SMALL:
            stack.append(each.value)
        elif isinstance(each, ast.Call):
            stack += [each.func] if isinstance(each.func, ast.Attribute) else []
            stack += each.args if last_name(each.func) in ("tuple", "list") else []
        elif isinstance(each, (ast.Tuple, ast.List)):
            stack += each.elts
    if stack:
        leave_out(module, node, f"what a hook keeps goes through more than {_MOST_PARTS} expressions")
    return False


def is_made_in(module: Module, hook: Hook, key: str, statements: set[ast.AST]) -> bool:
    """Whether the container that a hook collects in is a variable that one of these statements makes anew."""
    return any(each.statement in statements for each in module.flow.reaching(key, hook))


def _is_limited(module: Module, key: str, node: ast.AST) -> bool:
    """Whether the container is a deque with a maxlen, or it is added to under a condition."""
    if any(isinstance(up, ast.If) for up in module.tree.ancestors(node) if not isinstance(up, FUNCTIONS)):
        return True
    holder = (
        container_of(node.func.value)[0]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else node
    )
    return is_bounded(module, key, holder)


def _is_emptied(module: Module, key: str) -> bool:
    """Whether any function of the file empties a variable of this name, or binds it anew."""
    name = key.rpartition(".")[2]
    bound = 0
    for scope in module.tree.all(*FUNCTIONS, ast.Module):
        for other, changes in module.flow.mutations(scope).items():
            if other.rpartition(".")[2] == name and any(change.method in _EMPTIES for change in changes):
                return True
        bound += sum(
            each.how is not How.PARAMETER
            for other, definitions in module.flow.definitions(scope).items()
            if other.rpartition(".")[2] == name
            for each in definitions
        )
    return bound > 1 or empties_parts(module, key)
