"""What the place where a value was made says of it: a loss by its name, drawn by a loop, given by a call."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.values import ELEMENTS, NOTHING, Site
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
BATCH = "batch"
"""Marks the site of what a DataLoader gives, as ELEMENTS does of what a container holds."""


def names_loss(node: ast.expr) -> bool:
    """Whether a term is a loss by its name, or a part of it is."""
    stack = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.BinOp):
            stack += [each.left, each.right]
        elif isinstance(each, (ast.Name, ast.Attribute)) and hints.is_loss(last_name(each)):
            return True
    return False


def is_part_of_loss(site: Site) -> bool:
    """`total` of `total, parts = mask_loss(...)`."""
    base = site[0] if isinstance(site, tuple) and site else None
    return isinstance(base, ast.Call) and hints.computes_loss(last_name(base.func))


def is_reduced(site: Site) -> bool:
    """`x.mean()` and `x.sum()`: what a tensor is brought to that is a term of a loss."""
    return isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) and site.func.attr in ("mean", "sum")


def is_called_loss(site: Site) -> bool:
    """Whether what a site makes is a loss by a name: of what is called, of what it is put into, of a factor."""
    stack: list[Site] = [site]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.BinOp) and isinstance(each.op, ARITHMETIC):
            stack += [each.left, each.right]
        elif isinstance(each, ast.Call):
            if hints.computes_loss(last_name(each.func)):
                return True
        elif isinstance(each, (ast.Name, ast.Attribute)) and hints.is_loss(last_name(each)):
            return True
    return isinstance(site, ast.AugAssign) and hints.is_loss(last_name(site.target))


def results_of_calls(begun: frozenset[Site]) -> frozenset[Site]:
    """The calls whose results a history begins with, if all else that it may begin with is what a loop goes over.

    That is data: of `loss_of(net(x), y)`, differentiated, it is `net(x)` that has the history.
    """
    made = frozenset(site for site in begun if not is_element(site))
    roots = frozenset(map(root_of, made))
    return roots if made != begun and all(isinstance(each, ast.Call) for each in roots) else NOTHING


def is_element(site: Site) -> bool:
    """Whether something is an element of what is gone over, or a part of one."""
    while isinstance(site, tuple) and len(site) == 2:
        if site[1] in (ELEMENTS, BATCH):
            return True
        site = site[0]
    return False


def root_of(site: Site) -> Site:
    """What a part was taken from."""
    while isinstance(site, tuple) and len(site) == 2:
        site = site[0]
    return site
