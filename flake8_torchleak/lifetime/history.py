"""What an operation does to autograd history: adds to it, or puts tensors with it one behind the other."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.values import (
    BY_CALL,
    BY_NAME,
    INPUT,
    LEAF,
    NO_PAST,
    NOTHING,
    Atom,
    Site,
    Value,
    is_marked,
    may_be_limited,
)
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.sums import same

_SAME_AGAIN = frozenset({"to", "cpu", "cuda", "float", "double", "half", "bfloat16", "contiguous", "requires_grad_"})
"""Methods that give a tensor itself where it is so already, as it is the second time: measured on torch 2.13."""


def adds(new: Atom, old: Value, node: ast.AST, loop: int, proven: set[Site]) -> bool:
    """Whether a statement adds history to what a variable held, and does not only go on with that.

    loop: the innermost one around: what a loop inside it has summed up is the past of that one, and new here.
    proven: what was differentiated. Of what else may have history, such as a number of a configuration, none is added.
    """
    held = NOTHING.union(*(atom.parts for atom in old))
    # Where more went into it than is remembered, what began its history may be forgotten.
    known = not may_be_limited(new.parts)
    if any(
        is_marked(site, LEAF, BY_NAME, BY_CALL, INPUT) or (not is_in(site, node) and (site in proven or not known))
        for site in new.parts - held
    ):
        return True
    before = NO_PAST.union(*(atom.past for atom in old))
    return any(inner > loop and not is_in(site, node) for inner, site in new.past - before)


def is_same_again(node: ast.AST, target: ast.expr) -> bool:
    """Whether a statement binds a variable to what it holds, moved or converted: from the second time on, the same."""
    value = node.value if isinstance(node, ast.Assign) else None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SAME_AGAIN:
        if any(each.arg == "copy" for each in value.keywords):
            return False
        value = value.func.value
    return value is not None and same(value, target)


def is_in(site: Site, node: ast.AST) -> bool:
    """Whether an operation is a part of a statement."""
    while isinstance(site, tuple):
        site = site[0]
    if not isinstance(site, (ast.expr, ast.stmt)) or not isinstance(node, (ast.expr, ast.stmt)):
        return False
    start, end = (site.lineno, site.col_offset), (site.end_lineno or 0, site.end_col_offset or 0)
    return (node.lineno, node.col_offset) <= start and end <= (node.end_lineno or 0, node.end_col_offset or 0)


def joins(site: Site) -> bool:
    """Whether an operation puts tensors one behind the other: `torch.cat([queue, z])[-n:]`."""
    node = site
    while isinstance(node, ast.Subscript):
        if isinstance(node.ctx, ast.Store):
            return True  # an entry of a tensor is set
        node = node.value
    return isinstance(node, ast.Call) and last_name(node.func) in table.JOINS
