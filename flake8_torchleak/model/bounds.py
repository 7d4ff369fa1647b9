"""What the analysis of a module left out because there was too much of it: said once, never in silence."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.index import HOLDERS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


UNFOLLOWED = "unfollowed"
"""Where a module notes functions whose calls were not followed to their end, and why."""


def leave_out(module: Module, node: ast.AST, why: str) -> None:
    """Note that a function or class, or what is around a node, was not looked at in full. why: for a message."""
    module.flow.cut.setdefault(node if isinstance(node, HOLDERS) else module.tree.scope(node), why)


def unfinished(module: Module) -> tuple[ast.AST, str, bool] | None:
    """The first function or class of a module that was not analysed in full, the message, and whether it is only that
    other files of its project, or calls, were left out; None if all was looked at.

    Facts that no rule asked for are not worked out for this.
    """
    facts = vars(module)
    cut = facts["flow"].cut if "flow" in facts else {}
    unfollowed = module.shared.get(UNFOLLOWED)
    own = sorted((each for each in cut if module.tree.is_own(each)), key=module.tree.number)
    if own:
        first = own[0]
        name = getattr(first, "name", "")
        more = f" (and {len(own) - 1} more)" * (len(own) > 1)
        subject = f"`{name}`{more}" if name else f"this module{more}"
        return first, f"{subject} is too large to analyse in full: {cut[first]}; leaks in it may be missed", False
    if module.project is not None and module.project.unread:
        return module.root, f"not all of this module's project was looked at: {module.project.unread}", True
    if isinstance(unfollowed, dict) and unfollowed:
        node, why = next(iter(unfollowed.items()))
        name = getattr(node, "name", "")
        subject = f"`{name}`" if name else "this module"
        return node, f"the calls in {subject} were not all followed: {why}; leaks behind them may be missed", True
    if "infer" in facts and facts["infer"].exhausted:
        return module.root, "this module is too large to analyse in full; leaks in it may be missed", False
    return None
