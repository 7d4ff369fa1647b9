"""What stands in a function, by its text: names that it reads, of which kind, and its loops."""

from __future__ import annotations

import ast
import builtins

from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode

_LOOPS = frozenset({ast.For, ast.AsyncFor, ast.While})
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
DIFFERENTIATING = frozenset({"backward", "manual_backward"})
"""Methods that differentiate."""
_OF_PYTHON = frozenset(
    {
        name
        for kind in (str, bytes, list, dict, set, tuple, int, float)
        for name in dir(kind)
        if not name.startswith("_")
    }
)
"""Methods of Python's own types: who calls them by these names runs no network."""
_EVALUATING = frozenset({"eval", "from_pretrained"})
"""Methods that give a network in evaluation mode."""
_GRAD = frozenset({"autograd", "grad"})
"""`torch.autograd.grad`."""
STEPS = hints.STEP_METHODS | hints.STEP_HOOKS
"""Methods that frameworks call once per training step."""


class Uses:
    """What stands in a function, or in the statements of a module."""

    def __init__(self, root: FunctionNode | ast.Module) -> None:
        first = receiver_of(root)
        self.name = "" if isinstance(root, ast.Module) else root.name
        self.names: set[str] = set()
        """Variables that it reads; what it imports under another name, too."""
        self.own: set[str] = set()
        """Attributes of its first parameter: of the object or class whose method it is."""
        self.others: set[str] = set()
        """Attributes of all else."""
        self.loops = False
        """Whether there is a loop that is a statement."""
        self.comprehends = False
        """Whether there is one in an expression."""
        self.runs = False
        """Whether something is called in one of them that may be a network."""
        self.over: set[str] = set()
        """What its loops go over, by name."""
        for node in walk(root):
            kind = node.__class__
            if kind is ast.Name:
                self.names.add(node.id)  # type: ignore[attr-defined]
            elif isinstance(node, ast.Attribute):
                value = node.value
                of_first = value.__class__ is ast.Name and value.id == first
                (self.own if of_first else self.others).add(node.attr)
            elif isinstance(node, ast.ImportFrom):  # what it is, under whatever name it is used
                self.names.update(each.name for each in node.names if each.asname is not None)
            elif kind in _COMPREHENSIONS:
                self.comprehends = True
                self.runs = self.runs or any(map(_may_run, walk(node)))
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                self.over.update(filter(None, map(_named, walk(node.iter))))
            if kind in _LOOPS:
                self.loops = True
                self.runs = self.runs or any(map(_may_run, walk(node)))
        self.read = self.names | self.own | self.others
        """All names that it reads."""

    @property
    def hooks(self) -> bool:
        """Whether it may leave hooks behind."""
        return any("hook" in each for each in self.read)

    @property
    def may_step(self) -> bool:
        """Whether it may hold a step, by its own names. Those that only suggest something are asked about each time."""
        if self.name in STEPS or not DIFFERENTIATING.isdisjoint(self.read):
            return True
        if not (self.loops or self.comprehends):
            return False
        if not _EVALUATING.isdisjoint(self.read) or self.read >= _GRAD:
            return True
        if "DataLoader" in self.over or any(map(hints.is_loader, self.over)):
            return True
        return "next" in self.read and any(map(hints.is_loader, self.read))


@of_node
def uses_of(function: FunctionNode) -> Uses:
    """What stands in a function, told once for each."""
    return Uses(function)


def receiver_of(root: FunctionNode | ast.Module) -> str:
    """What a function calls the object that it is a method of, if it is one; a static method is none."""
    if isinstance(root, ast.Module) or any(last_name(each) == "staticmethod" for each in root.decorator_list):
        return ""
    first = next(iter((*root.args.posonlyargs, *root.args.args)), None)
    return first.arg if first is not None else ""


def _may_run(node: ast.AST) -> bool:
    """Whether a node is a call that may run a network: of anything but what Python itself has under that name."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr not in _OF_PYTHON
    return not isinstance(node.func, ast.Name) or node.func.id == "map" or not hasattr(builtins, node.func.id)


def _named(node: ast.AST) -> str:
    """What a node is called: a variable, an attribute, an entry by its key; "" if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
