"""Methods that say only that there is one, and leave it to the classes below."""

from __future__ import annotations

import ast

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode


def refuses(function: FunctionNode) -> bool:
    """Whether a method cannot be called as it is: an abstract one, or one that raises `NotImplementedError` alone."""
    abstract = any(last_name(each) == "abstractmethod" for each in function.decorator_list)
    return abstract or (only_declares(function) and any(isinstance(each, ast.Raise) for each in function.body))


def only_declares(function: FunctionNode) -> bool:
    """Whether a function does nothing but refuse: `raise NotImplementedError`, `pass`, or a text alone."""
    if any(last_name(each) == "abstractmethod" for each in function.decorator_list):
        return True
    for statement in function.body:
        if isinstance(statement, ast.Raise) and statement.exc is not None:
            raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
            if last_name(raised) != "NotImplementedError":
                return False
        elif not isinstance(statement, ast.Pass):
            if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
                return False
    return True
