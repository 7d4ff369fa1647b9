"""collecting-hook: a forward hook collects activations, or is registered again and again, and is never removed.

Leaks
-----
    features = []
    model.layer4.register_forward_hook(lambda module, args, output: features.append(output))

Holds
-----
    features = []
    handle = model.layer4.register_forward_hook(lambda module, args, output: features.append(output))
    model(x)
    handle.remove()

Why
---
A hook lives as long as its module. What it appends stays, with the graph that made it; `.detach()` drops the graph,
but not the activation itself. A hook that is registered in every step runs once more with each: time and memory grow.

Measured
--------
Layers 512 wide, batch 64: a hook that collects the output of a layer (128 KB) keeps 258 KB per step, with its
graph; detached 128 KB. Overwritten, emptied, bounded, or removed after use: 0 KB. Registered in each of 30
steps: 30 hooks at the end, all of which run in every call; cleared before, 1.

Run by `fixtures/TLK604_collecting_hook/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

Silent when
-----------
The list is emptied or bound anew, a handle is removed anywhere in the file, the hook overwrites one slot or
keeps numbers only, or it is a test.

Fix
---
Hint: keep the handle and call `.remove()` on it, or clear the list after each use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import GROWING, container_of
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.stores import is_bounded
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

Hook = FunctionNode | ast.Lambda

_REGISTERS = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook",
)  # fmt: skip
_COLLECTS = GROWING - {"setitem", "update", "setdefault"}
_EMPTIES = frozenset({"clear", "pop", "popleft", "del"})
_SMALL = frozenset({
    "item", "size", "numel", "shape", "dim", "dtype", "mean", "sum", "norm", "std", "max", "min", "type", "__class__",
    "nelement", "var", "device", "argmax", "element_size",
})  # fmt: skip
_MOST_PARTS = 30


@rule(
    "TLK604",
    "collecting-hook",
    fix=FixLevel.HINT,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    words=("register_forward", "register_full_backward", "register_backward_hook"),
)
def check(module: Module) -> Iterator[Report]:
    callers = module.classes.callers
    if any(isinstance(call.func, ast.Attribute) and not call.args for call in callers.get("remove", ())):
        return
    if "_hooks.clear()" in module.source.text:
        return
    again = set(module.loops.steps(ast.Call))
    for call in (call for name in _REGISTERS for call in callers.get(name, ())):
        functions = [up for up in module.tree.ancestors(call) if isinstance(up, FUNCTIONS)]
        if not call.args or any(function.name.startswith("test") for function in functions):
            continue
        module_name = short(call.func.value) if isinstance(call.func, ast.Attribute) else "the module"
        remedy = f"handle = {module_name}.{last_name(call.func)}(...), and handle.remove() after use"
        for hook in _hooks(module, call.args[0]):
            found = _collects(module, hook)
            if found is not None:
                holder, value, node = found
                yield Report(
                    node,
                    f"the hook keeps `{short(value)}` of every forward call in `{holder}`, which is never emptied; "
                    "remove the hook after use",
                    notes=((call, "the hook is registered here, and never removed"),),
                    remedy=remedy,
                )
        if call in again or any(function.name == "forward" for function in functions[:1]):
            yield Report(
                call,
                "a hook is registered in every step and never removed: each call runs one more; register it once",
                remedy=remedy,
            )


def _hooks(module: Module, node: ast.expr) -> list[Hook]:
    """The function behind a hook argument: by name, a method, a lambda, or what a factory of the file returns."""
    if isinstance(node, ast.Lambda):
        return [node]
    if isinstance(node, ast.Call) and last_name(node.func) == "partial" and node.args:
        return _hooks(module, node.args[0])
    if isinstance(node, ast.Call):
        factory = module.classes.callee(node)
        inner = module.tree.within(factory) if factory is not None else []
        returned = [each.value for each in inner if isinstance(each, ast.Return)]
        return [hook for each in returned if each is not None and each is not node for hook in _plain(module, each)]
    return _plain(module, node)


def _plain(module: Module, node: ast.expr) -> list[Hook]:
    if isinstance(node, ast.Lambda):
        return [node]
    found = module.names.definition(node)
    owned = module.classes.self_attribute(node)
    if owned is not None:
        found = owned[0].methods.get(owned[1])
    return [found] if isinstance(found, FUNCTIONS) else []


def _collects(module: Module, hook: Hook) -> tuple[str, ast.expr, ast.expr | ast.stmt] | None:
    """(container, value, node) where the hook adds what it is given to a container that outlives it."""
    given = {each.arg for each in parameters(hook)} - {"self", "module", "m"}
    for key, changes in module.flow.mutations(hook).items():
        head = key.partition(".")[0]
        outer = key.startswith("self.") or module.names.scope_of(head, hook) not in (None, hook)
        if not outer or key in module.flow.definitions(hook) or _is_emptied(module, key):
            continue
        for change in changes:
            value = change.value
            if change.method not in _COLLECTS or value is None or _is_limited(module, key, change.node):
                continue
            if _is_given(module, value, given):
                return key, value, change.node
    return None


def _is_given(module: Module, node: ast.expr, given: set[str]) -> bool:
    """Whether a value is what the hook was given: itself, a part or a method's result of its size, or a copy."""
    stack = [node]
    for _ in range(_MOST_PARTS):
        if not stack:
            break
        each = stack.pop()
        if isinstance(each, ast.Name):
            if each.id in given:
                return True
            values = [d.value for d in module.flow.reaching(each.id, each)]
            stack += [value for value in values if value is not None and not isinstance(value, ast.Name)]
        elif isinstance(each, (ast.Subscript, ast.Starred)):
            stack.append(each.value)
        elif isinstance(each, ast.Attribute) and each.attr not in _SMALL:
            stack.append(each.value)
        elif isinstance(each, ast.Call):
            stack += [each.func] if isinstance(each.func, ast.Attribute) else []
            stack += each.args if last_name(each.func) in ("tuple", "list") else []
        elif isinstance(each, (ast.Tuple, ast.List)):
            stack += each.elts
    return False


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
            len(definitions)
            for other, definitions in module.flow.definitions(scope).items()
            if other.rpartition(".")[2] == name
        )
    return bound > 1
