"""What a list keeps until its loop is over, and only then cuts off from its graph: `torch.cat(outputs).detach()`.

Who detaches has seen that it carries a graph, whatever made it. In the list each entry keeps its own until then.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.alike import cut_behind
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.elsewhere import is_called_without
from flake8_torchleak.model.evaluated import is_test
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.rounds import targets
from flake8_torchleak.model.running import is_forward
from flake8_torchleak.model.stores import Store
from flake8_torchleak.model.tree import Loop, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

JOINING = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.stack", "torch.vstack", "torch.hstack"})
"""Functions of torch that make one tensor of those in a list."""
WORDS = tuple(sorted(f"{each.rpartition('.')[2]}(" for each in JOINING))
"""One of these stands in every file that calls one of them, under whatever name it imports torch."""


class CutLater:
    """Which lists of one module are detached only behind the loop that fills them."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def place(self, store: Store) -> ast.Attribute | None:
        """Where the content of a list, joined, is detached behind the loop which fills that; None where it is not seen.

        Not where the entries have no history for certain, or gradients are off.
        """
        module = self.module
        scope, loops = module.tree.scope(store.node), module.tree.loops(store.node)
        if not loops or not isinstance(store.holder, ast.Name) or is_forward(module, scope):
            return None
        owner = module.names.scope_of(store.holder.id, store.holder)
        found = self._cut(store.holder.id, owner, loops[0])
        if found is None or module.grad.at(store.node) is not Grad.ON or is_test(module, scope):
            return None
        if not all(_may_have_history(module, each) and _is_made(each, loops) for each in store.elements):
            return None
        function = module.tree.function(store.node)
        return None if function is not None and is_called_without(module, function) else found

    @remembered
    def _cut(self, name: str, owner: Scope | None, loop: Loop) -> ast.Attribute | None:
        """The first place where what is joined of a list behind a loop is detached."""
        return _first_cut(self.module, name, owner, loop)


def _may_have_history(module: Module, value: ast.expr) -> bool:
    """Whether nothing shows, nor says by its name, that a value has none: who detaches outputs does so with labels."""
    found = module.infer.value(value)
    if found.graph is False or found.kind not in (Kind.UNKNOWN, Kind.TENSOR):
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        effect = TENSOR_METHODS.get(value.func.attr)
        return (effect is None or effect.graph) and _may_have_history(module, value.func.value)
    name = _key(value.slice) if isinstance(value, ast.Subscript) else last_name(value)
    return not (hints.is_label(name) or hints.is_plain_result(name))


def _is_made(value: ast.expr, loops: list[Loop]) -> bool:
    """Whether a value is made of more than what the loops go over: batches have no history."""
    taken = {name for each in loops if isinstance(each, (ast.For, ast.AsyncFor)) for name in targets(each)}
    names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    return any(isinstance(each, ast.Call) for each in ast.walk(value)) or not names <= taken


def _key(index: ast.expr) -> str:
    """What an entry is called: `outputs["logits"]`, `outputs[target_key]`."""
    return index.value if isinstance(index, ast.Constant) and isinstance(index.value, str) else last_name(index)


def _first_cut(module: Module, name: str, owner: Scope | None, loop: Loop) -> ast.Attribute | None:
    """Where what is joined of a list behind a loop is detached, there or under the name that it is bound to."""
    for read in module.release.escapes.reads(name, owner):
        if module.tree.inside(read, loop) or module.tree.number(read) < module.tree.number(loop):
            continue
        call = module.tree.parents[read]
        if not isinstance(call, ast.Call) or module.names.qualname(call.func) not in JOINING or read not in call.args:
            continue
        if module.release.escapes.of_this_value(call).fate is Fate.DIFFERENTIATED:
            continue
        cut, end = cut_behind(module, call)
        statement = module.tree.parents[end]
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        uses = module.release.escapes.reads(target.id, owner) if isinstance(target, ast.Name) else []
        ways = [(use, module.flow.reaching(use.id, use)) for use in uses]
        found = [use for use, made in ways if made and all(each.statement is statement for each in made)]
        cuts = filter(None, (cut, *(cut_behind(module, each)[0] for each in found)))
        first = next(cuts, None)
        if first is not None:
            return first
    return None
