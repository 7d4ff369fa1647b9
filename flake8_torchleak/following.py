"""What rules report of what is kept through helpers, methods, objects and files: found by following the calls."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from flake8_torchleak.finding import Severity
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.lifetime.frames import FORWARD, HOOKED
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.worth import Worth, worth
from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.elsewhere import is_called_without
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.records import is_of_record
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS
from flake8_torchleak.releases import in_evaluation
from flake8_torchleak.rule import Report
from flake8_torchleak.severities import severity_of
from flake8_torchleak.wording import deepcopied, short

FOLLOWED = "the value is stored by another function or object: detach or copy it by hand"
"""Why what was found by following calls is not fixed."""


class Said(NamedTuple):
    """What a rule says of what is kept by one statement in sight: its message, and what its `fix` is about."""

    message: str
    target: object
    remedy: str = ""
    notes: tuple[tuple[ast.AST, str], ...] = ()
    """Its evidence, before what was followed."""
    severity: Severity | None = None
    """Where the very statement shows more than what was followed does."""
    why: str = ""
    """Why it is a note, if it is one."""


def reports(
    module: Module, code: str, say: Callable[[Kept], Said | None], excused: Callable[[Kept], bool] = lambda _: False
) -> Iterator[Report]:
    """What the program keeps beyond a step, as far as a rule tells it.

    say: what the rule says where it sees the very statement; None where what is kept gets there by a longer way.
    excused: what the rule knows to be harmless.
    """
    found = followed(module)
    parts = worth(found.run)
    inside: dict[ast.AST, list[_Row]] = {}
    told: set[tuple[ast.AST, str, Severity]] = set()
    for each in _told(module, code, found.kept, excused):
        metered = each.of_other and each.is_graph
        told_of = each.node is each.at or metered or each.how in _SAID
        said = say(each) if told_of else None
        severity, why = severity_of(each, found, parts.get(each.at, Worth.UNSURE), module)
        if said is not None and said.severity is not None:
            severity, why = said.severity, said.why
        row = _Row(each, said, severity, why)
        if said is None and each.node is not each.at and each.how in _ENDED_INSIDE and _ends_inside(each, module):
            inside.setdefault(each.node, []).append(row)
        elif said is None or (each.node, said.message, severity) not in told:  # of a call that stores it twice, once
            told.add((each.node, said.message if said is not None else "", severity))
            yield _report(row, module, in_evaluation(module, each.node))
    yield from _of_calls(inside, module, code)


class _Row(NamedTuple):
    """Something that is kept, and what is told of it."""

    kept: Kept
    said: Said | None
    severity: Severity
    why: str


def _report(row: _Row, module: Module, under: tuple[str, ast.AST] | None) -> Report:
    kept, said, severity, why = row
    return Report(
        kept.at if said is not None and kept.how == "state" else kept.node,  # where it can be fixed
        said.message if said is not None else _message(kept, module),
        notes=((said.notes if said is not None else ()) + _notes(kept, module)),
        severity=severity,
        why=why,
        target=said.target if said is not None else kept,
        remedy=said.remedy if said is not None else "",
        under=under,
    )


def _of_calls(rows: dict[ast.AST, list[_Row]], module: Module, code: str) -> Iterator[Report]:
    """What is to be ended inside what is called: one finding of a call, and one of all calls that lead to one place."""
    order = list(Severity)
    firsts: dict[ast.AST, ast.AST] = {}
    for node in sorted(rows, key=module.tree.number):
        first, *others = sorted(rows[node], key=lambda row: order.index(row.severity))
        under = in_evaluation(module, node)
        leaders = {firsts.get(each.kept.at) for each in rows[node]}
        if under is None and len(leaders) == 1 and (leader := leaders.pop()) is not None:
            under = (code, leader)
        for each in rows[node]:
            firsts.setdefault(each.kept.at, node)
        report = _report(first, module, under)
        yield replace(report, notes=(*report.notes, *_stored_too([each.kept for each in others])))


def _told(module: Module, code: str, kept: list[Kept], excused: Callable[[Kept], bool]) -> list[Kept]:
    """What a rule tells of what is kept, each place once."""
    shown: list[Kept] = []
    told: set[tuple[ast.AST, ast.AST]] = set()
    sums = {each.at for each in kept if each.how == "sum"}
    for each in kept:
        if (each.node, each.at) in told or _code(each) != code or (code in _METERED and _is_safe(each, module)):
            continue
        if each.how == "store" and each.at in sums:
            continue  # `sums[name] += loss`: one finding, of the sum
        if excused(each) or (each.is_graph and (_is_run_without(module, each.node) or is_of_record(module, each.at))):
            continue
        if each.is_graph and _is_for_others(module, each):
            continue
        told.add((each.node, each.at))
        shown.append(each)
    return shown


def _is_run_without(module: Module, node: ast.AST) -> bool:
    """Whether all who are seen to call the function around do so with gradients off."""
    function = module.tree.function(node) if node in module.tree.parents else None
    return function is not None and is_called_without(module, function)


def _is_for_others(module: Module, kept: Kept) -> bool:
    """Whether the function around returns what it gathers, and another file differentiates that."""
    function = module.tree.function(kept.node) if kept.node in module.tree.parents else None
    if function is None or not isinstance(kept.target, (ast.Name, ast.Subscript)):
        return False
    callers = module.release.callers
    return key_of(container_of(kept.target)[0]) in callers.returned(function) and callers.train_elsewhere(function)


def _is_safe(kept: Kept, module: Module) -> bool:
    """Whether the configuration trusts the meter, by its class or by its name."""
    func = kept.node.func if isinstance(kept.node, ast.Call) else None
    held = func.value if isinstance(func, ast.Attribute) else func
    name = key_of(container_of(held)[0]) if held is not None else ""
    return kept.owner in module.config.safe_meters or name in module.config.safe_meters


_BY_STEP = {FORWARD: "TLK601", HOOKED: "TLK604"}
_WHEN = {FORWARD: "call", HOOKED: "call"}
_CODES = {"batch": "TLK404", "error": "TLK408", "state": "TLK406"}
_ANYWHERE = {"hook": "TLK604", "meter": "TLK904"}
"""The same, in whatever step."""
_METERED = ("TLK403", "TLK904")
_ENDED_INSIDE = ("sum", "store")
"""How something is kept whose message says where to detach it."""
_SAID = ("state", "meter")
"""How something is kept of which a rule says more than that, wherever the statement is."""


def _code(kept: Kept) -> str:
    if kept.how in _ANYWHERE:
        return _ANYWHERE[kept.how]
    if kept.loop.step in _BY_STEP:
        return _BY_STEP[kept.loop.step]
    if kept.how in _CODES:
        return _CODES[kept.how]
    if kept.of_other:
        return "TLK403"
    return "TLK401" if kept.how == "sum" else "TLK402"


def _message(kept: Kept, module: Module) -> str:
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
        if isinstance(kept.node, (ast.Assign, ast.AugAssign)):
            return f"memory grows every {when}: `{_bound(kept)}` keeps each {when}'s autograd graph; use `.detach()`"
        return f"memory grows every {when}: `{_shown(kept)}` keeps each {when}'s autograd graph; use `.detach()`"
    holder = f"`{short(kept.target)}`" if kept.target is not None else "a container"
    to = "to" if kept.how == "sum" else "in"
    return (
        f"memory grows every {when}: `{_shown(kept)}` {verb} a value with its autograd graph {to} {holder}; "
        f"{_cut(kept, module, verb[:-1])}"
    )


def _ends_inside(kept: Kept, module: Module) -> bool:
    """Whether to detach inside what is called: where the call gives something, which may be differentiated."""
    return isinstance(kept.node, ast.Call) and not isinstance(module.tree.parents.get(kept.node), ast.Expr)


def _cut(kept: Kept, module: Module, verb: str) -> str:
    """Where to detach."""
    if not _ends_inside(kept, module):
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
    statement = module.tree.statement(kept.node)
    name = f"`{short(statement.targets[0])}`" if isinstance(statement, ast.Assign) else "this comprehension"
    return f"{name} keeps every `{_shown(kept)}`"


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
        return ((kept.at, "passed to the network here" if kept.how == "state" else "stored here"),)
    return ((kept.node, f"stored in {os.path.basename(kept.place.path)}, line {getattr(kept.at, 'lineno', 1)}"),)


def _stored_too(kept: list[Kept]) -> Iterator[tuple[ast.AST, str]]:
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


def _notes(kept: Kept, module: Module) -> tuple[tuple[ast.AST, str], ...]:
    notes: list[tuple[ast.AST, str]] = []
    if kept.at is not kept.node:
        at = kept.calls.index(kept.node) if kept.node in kept.calls else len(kept.calls)
        way = [each for each in kept.calls[at + 1 :] if each in module.tree.parents and each is not kept.at]
        notes += [(each, "passed on here") for each in way[:_MOST_WAYS]]
        notes += _stored_at(kept)
    made = [each for each in kept.holders if isinstance(each, ast.expr) and each in module.tree.parents]
    if made:
        notes.append((min(made, key=module.tree.number), "what keeps it is created here"))
    if kept.loop.node in module.tree.parents and isinstance(kept.loop.node, ast.stmt):
        notes.append((kept.loop.node, kept.loop.step))
    return tuple(notes)
