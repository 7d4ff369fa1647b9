"""What is done for samples only where somebody asks for it: behind a condition that its default does not meet."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.few import numbers
from flake8_torchleak.model.state import READS, StateFacts
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.dataset import DatasetFacts
    from flake8_torchleak.model.module import Module


def is_left_out(module: Module, dataset: DatasetFacts, attr: str) -> bool:
    """Whether no sample function reads an attribute when a Dataset is made with the defaults of its class."""
    reads = [each for each in StateFacts(module, dataset, attr).reads if each.use in READS]
    return bool(reads) and all(_is_skipped(module, dataset, each.node) for each in reads)


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


def _is_skipped(module: Module, dataset: DatasetFacts, node: ast.AST | None) -> bool:
    """Whether a condition that is settled otherwise is around a node, or around a call that leads there."""
    while node is not None:
        below = node
        for up in takewhile(lambda each: not isinstance(each, FUNCTIONS), module.tree.ancestors(node)):
            if isinstance(up, ast.If) and below is not up.test and _holds(module, up.test) is (below in up.orelse):
                return True
            below = up
        function = module.tree.function(node)
        node = dataset.calls_in.get(function) if function is not None else None
    return False


def _holds(module: Module, test: ast.expr) -> bool | None:
    """Whether a flag of the Dataset is set by default; None if that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(module, test.operand)
        return None if inner is None else not inner
    known = {bool(each) for each in numbers(module, test)} if module.classes.self_attribute(test) is not None else set()
    return known.pop() if len(known) == 1 else None
