"""What is done for samples only where somebody asks for it: behind a condition that its default does not meet."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.few import numbers
from flake8_torchleak.model.state import READS, StateFacts, Use
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.dataset import DatasetFacts
    from flake8_torchleak.model.module import Module


_MOST_ARGUMENTS = 255


def is_left_out(module: Module, dataset: DatasetFacts, attr: str) -> bool:
    """Whether no sample function reads an attribute when a Dataset is made with the defaults of its class."""
    reads = [each for each in StateFacts(module, dataset, attr).reads if each.use in READS]
    return bool(reads) and all(_is_skipped(module, dataset, each.node) for each in reads)


def is_never_read(module: Module, dataset: DatasetFacts, attr: str) -> bool:
    """Whether a program never reads an attribute for samples: only behind flags that nothing there sets."""
    reads = [each.node for each in StateFacts(module, dataset, attr).reads if each.use in (*READS, Use.OTHER)]
    return bool(reads) and is_never_run(module, dataset, reads)


def is_unset(module: Module, dataset: DatasetFacts, attr: str) -> bool:
    """Whether an attribute is set only where somebody asks for it by an argument, and nobody does."""
    bindings = StateFacts(module, dataset, attr).bindings
    return bool(bindings) and all(_is_for_who_asks(module, each.statement) for each in bindings)


def _is_for_who_asks(module: Module, node: ast.AST) -> bool:
    below = node
    for up in takewhile(lambda each: not isinstance(each, FUNCTIONS), module.tree.ancestors(node)):
        if isinstance(up, ast.If) and below is not up.test and _is_asked(module, up.test) is (below in up.orelse):
            return not any(_is_passed(module, each.id) for each in ast.walk(up.test) if isinstance(each, ast.Name))
        below = up
    return False


def _is_passed(module: Module, name: str) -> bool:
    """Whether this file, or one that imports it, passes something by this name."""
    here = any(keyword.arg == name for call in module.tree.all(ast.Call) for keyword in call.keywords)
    return here or bool(module.users.paths(f"{name}="))


def _is_asked(module: Module, test: ast.expr) -> bool | None:
    """Whether a condition holds by the defaults of the function around; None if that is not known."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return False if any(_is_asked(module, each) is False for each in test.values) else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _is_asked(module, test.operand)
        return None if inner is None else not inner
    known = {bool(each) for each in numbers(module, test)} if isinstance(test, ast.Name) else set()
    return known.pop() if len(known) == 1 else None


def is_never_run(module: Module, dataset: DatasetFacts, nodes: Iterable[ast.AST]) -> bool:
    """Whether a program runs none of these for samples: each is behind a flag of the Dataset that nothing sets."""
    project = module.project
    if project is None or not project.is_program:
        return False  # who sets it is not in sight
    return all(any(_is_as_it_is(module, dataset, test) for test in _unmet(module, dataset, node)) for node in nodes)


def _is_as_it_is(module: Module, dataset: DatasetFacts, test: ast.expr) -> bool:
    """Whether the flags in a condition are what they are by default: no object of the class is given them."""
    start = dataset.facts.methods.get("__init__")
    names = {each.arg: place for place, each in enumerate(start.args.args)} if start is not None else {}
    flags = {
        value.id
        for each in (each for part in _deciding(module, test) for each in ast.walk(part))
        if isinstance(each, ast.Attribute) and (owned := module.classes.self_attribute(each)) is not None
        for binding in owned[0].attributes.get(f"self.{owned[1]}", [])
        if isinstance(value := binding.value, ast.Name)
    }
    if any(_is_passed(module, each) for each in flags):
        return False
    last = min((names.get(each, 0) for each in flags), default=_MOST_ARGUMENTS)
    name = dataset.facts.node.name

    def takes(user: Module) -> bool:
        calls = user.classes.own_calls(name)
        return any(len(call.args) >= last or any(each.arg is None for each in call.keywords) for call in calls)

    return not takes(module) and not any(found for _, found in module.users.answers(takes, f"{name}("))


def _deciding(module: Module, test: ast.expr) -> list[ast.expr]:
    """The parts of a condition that settle it: of `a and b`, a flag that is off."""
    if isinstance(test, ast.BoolOp):
        return [each for each in test.values if _holds(module, each) is False]
    return [test]


def _is_skipped(module: Module, dataset: DatasetFacts, node: ast.AST) -> bool:
    """Whether a condition that is settled otherwise is around a node, or around a call that leads there."""
    return next(_unmet(module, dataset, node), None) is not None


def _unmet(module: Module, dataset: DatasetFacts, node: ast.AST | None) -> Iterator[ast.expr]:
    while node is not None:
        below = node
        for up in takewhile(lambda each: not isinstance(each, FUNCTIONS), module.tree.ancestors(node)):
            if isinstance(up, ast.If) and below is not up.test and _holds(module, up.test) is (below in up.orelse):
                yield up.test
            below = up
        function = module.tree.function(node)
        node = dataset.calls_in.get(function) if function is not None else None


def _holds(module: Module, test: ast.expr) -> bool | None:
    """Whether a flag of the Dataset is set by default; None if that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(module, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return False if any(_holds(module, each) is False for each in test.values) else None
    known = {bool(each) for each in numbers(module, test)} if module.classes.self_attribute(test) is not None else set()
    return known.pop() if len(known) == 1 else None
