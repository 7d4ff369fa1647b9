"""What rules report of what is kept through helpers, methods, objects and files: found by following the calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from flake8_torchleak.finding import Severity
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.lifetime.frames import FORWARD, HOOKED
from flake8_torchleak.lifetime.graphs import only_nodes
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.worth import Worth, worth
from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.elsewhere import is_called_without
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.records import is_of_record
from flake8_torchleak.releases import in_evaluation
from flake8_torchleak.rule import Report
from flake8_torchleak.severities import severity_of
from flake8_torchleak.telling import PLAIN, ends_inside, message, notes, stored_too

FOLLOWED = "it was followed through calls: detach or copy it by hand"
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
    parts, nodes = worth(found.run), only_nodes(found.run)
    inside: dict[ast.AST, list[_Row]] = {}
    told: set[tuple[ast.AST, str, Severity]] = set()
    for each in _told(module, code, found.kept, excused):
        known = parts.get(each.at, Worth.UNSURE)
        each.nodes = each.at in nodes
        metered = each.of_other and each.is_graph
        told_of = each.node is each.at or metered or each.how in _SAID
        said = say(each) if told_of else None
        severity, why = severity_of(each, found, known, module)
        if said is not None and said.severity is not None:
            severity, why = said.severity, said.why
        row = _Row(each, said, severity, why)
        if said is None and each.node is not each.at and each.how in _ENDED_INSIDE and ends_inside(each, module):
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
        said.message if said is not None else message(kept, module),
        notes=_evidence(kept, said, module),
        severity=severity,
        why=why,
        target=said.target if said is not None else kept,
        remedy=said.remedy if said is not None else "",
        under=under,
    )


def _evidence(kept: Kept, said: Said | None, module: Module) -> tuple[tuple[ast.AST, str], ...]:
    """What the rule says of its statement, and behind that where the value went, as far as that says more."""
    own = said.notes if said is not None else ()
    lines = {_line(kept.node), *(_line(node) for node, _ in own)}
    return (*own, *(each for each in notes(kept, module) if each[1] not in PLAIN or _line(each[0]) not in lines))


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


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
        yield replace(report, notes=(*report.notes, *stored_too([each.kept for each in others])))


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
    """Whether all who are seen to call the function around do so with gradients off, and nobody hands it on."""
    function = module.tree.function(node) if node in module.tree.parents else None
    if function is None or (module.classes.calls_of(function) and _is_handed_on(module, function.name)):
        return False
    return is_called_without(module, function)


def _is_handed_on(module: Module, name: str) -> bool:
    """Whether a function, or a method, is read by its name without being called: who gets it may call it."""
    read: list[ast.expr] = [each for each in module.tree.all(ast.Attribute) if each.attr == name]
    read += [each for each in module.tree.all(ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)]
    return any(getattr(module.tree.parents.get(each), "func", None) is not each for each in read)


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
