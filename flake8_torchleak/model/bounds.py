"""What the analysis of a module left out because there was too much of it: said once, never in silence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flake8_torchleak.finding import OF_CALLS, OF_PROJECT
from flake8_torchleak.model.index import HOLDERS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


UNFOLLOWED = "unfollowed"
"""Where a module notes functions whose calls take too long to follow, and why."""
BEYOND = "beyond"
"""The same, of functions whose calls are too deep."""
WHOLE = "analysis-bound"
"""The slug of what is too large itself."""


def leave_out(module: Module, node: ast.AST, why: str) -> None:
    """Note that not all that a function or class, or what is around a node, leads to was looked at. why: in words."""
    module.flow.behind.setdefault(node if isinstance(node, HOLDERS) else module.tree.scope(node), why)


@contextmanager
def quietly(module: Module) -> Iterator[None]:
    """What is left out meanwhile is not said: of questions that only notes rest on, which nobody misses."""
    behind, project = dict(module.flow.behind), module.project
    said = project.left_out if project is not None else ""
    try:
        yield
    finally:
        module.flow.behind.clear()
        module.flow.behind.update(behind)
        if project is not None:
            project.left_out = said


def unfinished(module: Module) -> tuple[ast.AST, str, str] | None:
    """The first function or class that was not analysed in full, the message, and its slug; None if all was.

    Facts that no rule asked for are not worked out for this.
    """
    facts = vars(module)
    flow = facts.get("flow")
    first, why, more = _first(module, flow.cut if flow is not None else {})
    if first is not None:
        return first, f"{_name(first)}{more} is too large to analyse in full: {why}; leaks in it may be missed", WHOLE
    if "infer" in facts and facts["infer"].exhausted:
        return module.root, "this module is too large to analyse in full; leaks in it may be missed", WHOLE
    found = _unfollowed(module, UNFOLLOWED, OF_CALLS)
    if found is not None:
        return found
    first, why, _ = _first(module, flow.behind if flow is not None else {})
    if first is not None:
        message = f"not all that {_name(first)} leads to was looked at: {why}; leaks may be missed"
        return first, message, OF_PROJECT
    found = _unfollowed(module, BEYOND, OF_PROJECT)
    if found is not None:
        return found
    if module.project is not None and module.project.unread:
        return module.root, f"not all of this module's project was looked at: {module.project.unread}", OF_PROJECT
    return None


def _unfollowed(module: Module, known: str, slug: str) -> tuple[ast.AST, str, str] | None:
    """The first function whose calls were not followed to their end."""
    unfollowed = module.shared.get(known)
    if not isinstance(unfollowed, dict) or not unfollowed:
        return None
    node, why = next(iter(unfollowed.items()))
    return node, f"the calls in {_name(node)} were not all followed: {why}; leaks behind them may be missed", slug


def _first(module: Module, cut: dict[ast.AST, str]) -> tuple[ast.AST | None, str, str]:
    """The first of the module's own that were cut, why, and how many more there are, in words."""
    own = sorted(filter(module.tree.is_own, cut), key=module.tree.number) if cut else []  # the tree is made when asked
    if not own:
        return None, "", ""
    return own[0], cut[own[0]], f" (and {len(own) - 1} more)" * (len(own) > 1)


def _name(node: ast.AST) -> str:
    name = getattr(node, "name", "")
    return f"`{name}`" if name else "this module"
