"""What is said of what following the calls found to be kept: the message, and where the value went."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from flake8_torchleak.lifetime.frames import FORWARD, HOOKED
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS
from flake8_torchleak.wording import deepcopied, graph_of_each, is_cut, its_graph, released, short

_WHEN = {FORWARD: "call", HOOKED: "call"}
STORED, CREATED = "stored here", "what keeps it is created here"
PLAIN = frozenset({STORED, CREATED})
"""What notes say that a rule's own note on the same line says better."""


def message(kept: Kept, module: Module) -> str:
    """What a finding says of what is kept, where no rule says more of the very statement."""
    if kept.how == "batch":
        keeper = _keeper(kept, module)
        return f"shared memory grows with each batch: {keeper} as workers send them; {_copies(kept, module)}"
    if kept.how == "state":
        return (
            f"memory grows with every batch: the state of `{_bound(kept)}` keeps the autograd graph of all earlier "
            "ones; detach the state at the end of each batch"
        )
    if kept.how == "error":
        return (
            f"memory grows with each error: `{_shown(kept)}` keeps an exception, and with it the tensors of "
            "all functions it passed; store `str(...)`"
        )
    end = next((each for each in kept.holders if isinstance(each, FUNCTIONS)), None)
    if end is not None:
        shown = f"what `{_shown(kept)}` returns" if isinstance(kept.node, FUNCTIONS) else f"`{_shown(kept)}`"
        return (
            f"memory grows every step: {shown} is kept for `{end.name}` with its graph; return all but `loss` "
            "with `.detach()`"
        )
    verb, when = ("adds" if kept.how == "sum" else "stores"), _WHEN.get(kept.loop.step, "step")
    if kept.node is kept.at:
        each_graph = graph_of_each(when, kept.nodes)
        if isinstance(kept.node, (ast.Assign, ast.AugAssign)):
            return f"memory grows every {when}: `{_bound(kept)}` keeps {each_graph}; use `.detach()`"
        holder, element = _gathering(kept, module)
        remedy = f"in it write `{released(element)}`" if element is not None else "use `.detach()`"
        return f"memory grows every {when}: {holder} keeps {each_graph}; {remedy}"
    holder = f"`{short(kept.target)}`" if kept.target is not None else "a container"
    to = "to" if kept.how == "sum" else "in"
    return (
        f"memory grows every {when}: `{_shown(kept)}` {verb} a value with {its_graph(kept.nodes)} {to} {holder}; "
        f"{_cut(kept, module, verb[:-1])}"
    )


def _gathering(kept: Kept, module: Module) -> tuple[str, ast.expr | None]:
    """What keeps something in one expression, in words, and what is gathered there, if that is whole in a message."""
    node = kept.node
    inner = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(inner, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):  # `sum(step(batch) for batch in loader)`
        return f"`{_shown(kept)}`", None if is_cut(inner.elt) else inner.elt
    if isinstance(node, ast.expr) and _is_comprehended(kept, module):
        statement = module.tree.statement(node)
        bound = statement.targets[0] if isinstance(statement, ast.Assign) else None
        holder = f"`{short(bound)}`" if bound is not None else "this comprehension"
        return holder, None if is_cut(node) else node
    return f"`{_shown(kept)}`", None


def ends_inside(kept: Kept, module: Module) -> bool:
    """Whether to detach inside what is called: where the call gives something, which may be differentiated."""
    return isinstance(kept.node, ast.Call) and not isinstance(module.tree.parents.get(kept.node), ast.Expr)


def _cut(kept: Kept, module: Module, verb: str) -> str:
    """Where to detach."""
    if not ends_inside(kept, module):
        return "pass it with `.detach()`"
    line = getattr(kept.at, "lineno", 1)
    at = f"line {line}" if kept.place.is_own else f"{os.path.basename(kept.place.path)}, line {line},"
    return f"at {at} {verb} it with `.detach()`"


def _bound(kept: Kept) -> str:
    """What the statement binds that a finding stands at; else what it says itself."""
    if isinstance(kept.node, (ast.AugAssign, ast.AnnAssign)):
        return short(kept.node.target)
    if not isinstance(kept.node, ast.Assign):
        return _shown(kept)
    whole = kept.node.targets[0]
    return short(kept.target if isinstance(whole, (ast.Tuple, ast.List)) and kept.target is not None else whole)


def _keeper(kept: Kept, module: Module) -> str:
    """What keeps which batches, in words."""
    if not _is_comprehended(kept, module):
        return f"`{_shown(kept)}` keeps batches"
    return f"{_gathering(kept, module)[0]} keeps every `{_shown(kept)}`"


def _is_comprehended(kept: Kept, module: Module) -> bool:
    around = module.tree.ancestors(kept.node) if kept.node in module.tree.parents else ()
    return any(isinstance(each, COMPREHENSIONS) for each in around)


def _copies(kept: Kept, module: Module) -> str:
    """What to store instead: `copy.deepcopy` copies the tensors of any batch, be it a tuple, a dict or an object."""
    if isinstance(kept.node, ast.expr) and _is_comprehended(kept, module):
        return deepcopied(kept.node, "store")
    return "store deep copies of them (`copy.deepcopy`)"


def _shown(kept: Kept) -> str:
    if kept.node is kept.at and kept.target is not None:
        return short(kept.target)
    return short(kept.node) if isinstance(kept.node, ast.expr) else getattr(kept.node, "name", "this")


_MOST_WAYS = 3
"""Calls in the linted file, between where something is handed over and where it is kept, that are shown."""


def _stored_at(kept: Kept) -> tuple[tuple[ast.AST, str], ...]:
    """Where something is kept, if that is not where it is told."""
    if kept.place.is_own:
        return ((kept.at, "passed to the network here" if kept.how == "state" else STORED),)
    return ((kept.node, f"stored in {os.path.basename(kept.place.path)}, line {getattr(kept.at, 'lineno', 1)}"),)


def stored_too(kept: list[Kept]) -> Iterator[tuple[ast.AST, str]]:
    """Where the same call stores the same elsewhere: each place in this file, those of another in one note."""
    elsewhere: dict[str, list[Kept]] = {}
    for each in kept:
        if each.place.is_own:
            yield from _stored_at(each)
        else:
            elsewhere.setdefault(os.path.basename(each.place.path), []).append(each)
    for name, others in elsewhere.items():
        lines = sorted({getattr(each.at, "lineno", 1) for each in others})
        yield others[0].node, f"and in {name}, line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"


def notes(kept: Kept, module: Module) -> tuple[tuple[ast.AST, str], ...]:
    """Where a value goes on its way to what keeps it, where that is created, and why its loop is a step."""
    found: list[tuple[ast.AST, str]] = []
    if kept.at is not kept.node:
        at = kept.calls.index(kept.node) if kept.node in kept.calls else len(kept.calls)
        way = [each for each in kept.calls[at + 1 :] if each in module.tree.parents and each is not kept.at]
        found += [(each, "passed on here") for each in way[:_MOST_WAYS]]
        found += _stored_at(kept)
    made = [each for each in kept.holders if isinstance(each, ast.expr) and each in module.tree.parents]
    if made:
        found.append((min(made, key=module.tree.number), CREATED))
    if kept.loop.node in module.tree.parents and isinstance(kept.loop.node, ast.stmt):
        found.append((kept.loop.node, kept.loop.step))
    return tuple(found)
