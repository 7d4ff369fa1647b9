"""Methods of objects whose class nobody sees, by the project's classes that have such a method.

`tagger.get_logits(words).detach()`: where all classes of the project with a method `get_logits` are networks which run
in it with gradients on, and what it gives is detached, or the object is asked for its parameters, that builds a graph.
It is told as a note: the object may be of another class. Of 16 such evaluations that two readers judged, the worse
verdict counting, 7 were worth a change and 4 false.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.classfacts import runs_own
from flake8_torchleak.model.effects import MODULE_SELF, TENSOR_METHODS
from flake8_torchleak.model.gradmode import turns_off
from flake8_torchleak.model.later import OF_A_GRAPH, ONLY_TENSORS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.program import Program, TooMuch
from flake8_torchleak.model.reading import made
from flake8_torchleak.model.release.asking import compares_identity
from flake8_torchleak.model.running import runs_model
from flake8_torchleak.model.sums import same
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_CUTS = frozenset({"detach", "data"})
_OF_TENSORS = (
    OF_A_GRAPH | ONLY_TENSORS | {"detach", "numpy", "logits", "last_hidden_state", "latent_dist"}
) - MODULE_SELF
"""What tensors have, and no network; and what transformers and diffusers give beside."""
_NO_TENSORS = frozenset({"save", "load", "compile"})
"""Functions of torch that take other things."""
_MOST_NAMES = 256


def runs_alike(module: Module, call: ast.Call) -> bool:
    """Whether a method of an object out of sight is called, that networks of the project alone have, and run in."""
    func, project = call.func, module.project
    if not module.notes or project is None or not project.is_marked:
        return False
    if not isinstance(func, ast.Attribute) or not (call.args or call.keywords) or func.attr.startswith("__"):
        return False
    if not isinstance(func.value, (ast.Name, ast.Attribute)) or module.names.qualname(func):
        return False
    if module.classes.callee(call) is not None or _is_imported(module, func.value):
        return False
    if module.infer.value(func.value).kind not in (Kind.MODULE, Kind.UNKNOWN):
        return False
    if func.attr == "forward":
        return is_used_as_tensor(module, call)
    if not (is_detached(module, call) or module.proof.networks.is_network(func.value)):
        return False  # a name alone is no sign
    found: bool = _is_of_networks(project.top, func.attr)
    return found


def may_guard_itself(module: Module, call: ast.Call) -> bool:
    """Whether a method of an object out of sight is called that some class of the project runs without gradients."""
    func, project = call.func, module.project
    if project is None or not project.is_marked or not isinstance(func, ast.Attribute) or func.attr == "forward":
        return False
    is_seen = module.classes.callee(call) is not None or bool(module.names.qualname(func))
    return not is_seen and bool(_is_guarded(project.top, func.attr))


@made(_MOST_NAMES)
def _is_guarded(top: str, name: str) -> bool:
    """Whether a method of this name in a project turns gradients off."""
    try:
        program = Program(top)
        found = [each for part, each in program.functions(name) if part.tree.class_of(each) is not None]
    except TooMuch:
        return False
    return any(turns_off(each) for each in found)


def _is_imported(module: Module, value: ast.expr) -> bool:
    """Whether an object is a class or module that is imported, or a class of the file, or a part of one."""
    while isinstance(value, ast.Attribute):
        value = value.value
    bound = module.names.bound(value.id, value) if isinstance(value, ast.Name) else []
    return any(isinstance(each, (ast.alias, ast.ClassDef)) for each in bound)


def is_detached(module: Module, call: ast.Call) -> bool:
    """Whether what a call gives is detached, there or where it is bound: who does so has seen it carry a graph."""
    uses: list[ast.expr] = [call]
    statement = module.tree.statement(call)
    for target in statement.targets if isinstance(statement, ast.Assign) and statement.value is call else ():
        bound = [
            each for each in getattr(target, "elts", None) or [target] if isinstance(each, (ast.Name, ast.Attribute))
        ]
        reads = (each for each in module.tree.within(module.tree.scope(call)) if isinstance(each, ast.Attribute))
        values = (each.value for each in reads if isinstance(each.value, (ast.Name, ast.Attribute)))
        uses += [each for each in values if any(same(each, name) for name in bound)]
    return any(cut_behind(module, each)[0] is not None for each in uses)


def cut_behind(module: Module, value: ast.expr) -> tuple[ast.Attribute | None, ast.expr]:
    """Where a tensor is detached, itself or after methods that keep its history; and what these give in the end."""
    while True:
        up = module.tree.parents[value]
        if not isinstance(up, ast.Attribute) or up.attr in _CUTS:
            return (up if isinstance(up, ast.Attribute) else None), value
        call = module.tree.parents[up]
        effect = TENSOR_METHODS.get(up.attr)
        if not isinstance(call, ast.Call) or call.func is not up or effect is None or not effect.graph:
            return None, value
        value = call


def is_used_as_tensor(module: Module, call: ast.Call) -> bool:
    """Whether a tensor is made of what a call gives, or read, there or by a variable that it is bound to."""
    uses: list[ast.expr] = [call]
    statement = module.tree.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        bound = {each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        uses += [each for name in sorted(bound) for each in module.release.escapes.reads(name, module.tree.scope(call))]
    return any(_is_of_tensor(module, each) for each in uses)


def _is_of_tensor(module: Module, use: ast.expr) -> bool:
    up = module.tree.parents[use]
    while isinstance(up, ast.Subscript) and up.value is use:
        use, up = up, module.tree.parents[up]
    if isinstance(up, ast.Attribute):
        return up.attr in _OF_TENSORS
    if isinstance(up, ast.Call) and use in up.args:
        if runs_model(module, up):
            return True
        head, _, name = module.names.qualname(up.func).rpartition(".")
        return head in ("torch", "torch.nn.functional", "numpy") and name[:1].islower() and name not in _NO_TENSORS
    return isinstance(up, (ast.BinOp, ast.UnaryOp)) or (isinstance(up, ast.Compare) and not compares_identity(up))


@made(_MOST_NAMES)
def _is_of_networks(top: str, name: str) -> bool:
    """Whether classes of a project have a method of this name, and all of them are networks that it runs."""
    try:
        program = Program(top)
        found = [(part, each, part.tree.class_of(each)) for part, each in program.functions(name)]
        written = [(part, each, owner) for part, each, owner in found if owner is not None and not _is_left_open(each)]
        if not all(_is_network(program, owner) for _, _, owner in written):
            return False
    except TooMuch:
        return False
    return bool(written) and all(
        not turns_off(each) and runs_own(each, part.tree.calls(each)) for part, each, _ in written
    )


def _is_network(program: Program, cls: ast.ClassDef) -> bool:
    """Whether a class has a forward pass, itself or by a base class, or is derived from `nn.Module`."""
    return any(
        any(getattr(each, "name", "") == "forward" for each in node.body)
        or any(last_name(base) == "Module" for base in node.bases)
        for _, node in program.lineage(cls.name)
    )


def _is_left_open(method: FunctionNode) -> bool:
    """Whether a method is left to the classes below: it does nothing, or raises."""
    return all(isinstance(each, (ast.Pass, ast.Raise)) or _is_text(each) for each in method.body)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
