"""What rules report of what is kept through helpers, methods, objects and files: found by following the calls."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flake8_torchleak.finding import Severity
from flake8_torchleak.lifetime.follow import Followed, followed
from flake8_torchleak.lifetime.frames import FORWARD, HOOKED
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.verdict import Worth, is_certain, is_freed, is_small, worth
from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.releases import in_evaluation
from flake8_torchleak.rule import Report
from flake8_torchleak.wording import short

FOLLOWED = "what is kept gets there through a call, an object or a record"
"""Why what was found by following calls is not fixed."""


def with_calls(module: Module, code: str, direct: Iterable[Report]) -> Iterator[Report]:
    """What the look at single functions finds for a rule, and what following the calls does.

    Of the former, what is harmless for certain where it is followed is left out: emptied by a helper, done a few times.
    """
    found = followed(module)
    parts = worth(found.run)
    known: set[ast.AST] = set()
    told: set[tuple[ast.AST, ast.AST]] = set()
    for report in direct:
        known.add(report.node)
        if found.whole and _is_harmless(report.node, code, found):
            continue
        yield _weighed(report, found, parts, module) if found.whole and code in _OF_HISTORY else report
    for each in found.kept:
        at = (each.node, each.at, module.tree.statement(each.node), *each.calls)
        if _code(each) != code or not known.isdisjoint(at):
            continue
        if (each.node, each.at) in told or (code == "TLK403" and _is_safe(each, module)):
            continue
        told.add((each.node, each.at))
        yield Report(
            each.node,
            _message(each),
            notes=_notes(each, module),
            severity=_severity(each, found, parts.get(each.at, Worth.UNSURE)),
            target=each,
            under=in_evaluation(module, each.node),
        )


def _is_harmless(node: ast.AST, code: str, found: Followed) -> bool:
    """Whether what was followed shows that a statement, or a call with all that is called there, keeps nothing."""
    keeper, seen = found.run.keeper, found.run.seen
    harmless = keeper.contained if code in ("TLK404", "TLK408") else keeper.harmless
    if node in seen.followed:
        return node not in seen.unseen and harmless.get(node, node not in keeper.storing)
    return harmless.get(node, False)


def _is_safe(kept: Kept, module: Module) -> bool:
    """Whether the configuration trusts the meter, by its class or by its name."""
    func = kept.node.func if isinstance(kept.node, ast.Call) else None
    held = func.value if isinstance(func, ast.Attribute) else func
    name = key_of(container_of(held)[0]) if held is not None else ""
    return kept.owner in module.config.safe_meters or name in module.config.safe_meters


_OF_HISTORY = ("TLK401", "TLK402", "TLK403")
_BY_STEP = {FORWARD: "TLK601", HOOKED: "TLK604"}
_CODES = {"batch": "TLK404", "error": "TLK408", "state": "TLK406"}


def _code(kept: Kept) -> str:
    if kept.loop.step in _BY_STEP:
        return _BY_STEP[kept.loop.step]
    if kept.how in _CODES:
        return _CODES[kept.how]
    if kept.of_other:
        return "TLK403"
    return "TLK401" if kept.how == "sum" else "TLK402"


def _weighed(report: Report, found: Followed, worths: dict[ast.AST, Worth], module: Module) -> Report:
    """A report with the severity that following shows, where it shows more than the look at one function does."""
    if is_small(found.run, report.node) or _is_decoded(report.node, found, module):
        return replace(report, severity=Severity.NOTE)
    known = worths.get(report.node, Worth.UNSURE)
    if known is Worth.UNSURE:
        return report
    if known is Worth.NODES:
        usual = report.severity if report.severity is not Severity.ERROR else None
        return replace(report, severity=usual or Severity.WARNING)
    return replace(report, severity=Severity.ERROR if known is Worth.ALL else Severity.NOTE)


def _is_decoded(node: ast.AST, found: Followed, module: Module) -> bool:
    """Whether a statement keeps what a loop makes of one sample, step by step of what it made before."""
    return any(found.run.seen.decoding.get(loop, False) for loop in module.loops.step_loops(node)[:1])


def _severity(kept: Kept, found: Followed, known: Worth) -> Severity:
    """What was differentiated has only its nodes left; what rests on more than the program shows is a note."""
    if known is Worth.LITTLE or not is_certain(found.run, kept):
        return Severity.NOTE
    if kept.how == "state" and not kept.sites.isdisjoint(found.run.seen.freed):
        return Severity.NOTE  # the next step would fail: something that is not seen cuts it off
    if kept.how == "error" or (kept.is_graph and is_freed(found.run, kept)):
        return Severity.WARNING
    return Severity.ERROR


def _message(kept: Kept) -> str:
    if kept.how == "batch":
        return f"`{_shown(kept)}` keeps shared memory of every batch; keep a copy (`.clone()`, for arrays `.copy()`)"
    if kept.how == "state":
        return f"`{_shown(kept)}` carries the graph of every step before in its state; detach that between steps"
    if kept.how == "error":
        return (
            f"`{_shown(kept)}` keeps an exception with the tensors of all frames it passed; keep its text (`str(...)`)"
        )
    end = next((each for each in kept.holders if isinstance(each, FUNCTIONS)), None)
    if end is not None:
        return f"`{end.name}` gets `{_shown(kept)}` of every step with its autograd graph; return it detached"
    verb = "adds up" if kept.how == "sum" else "keeps"
    if kept.node is kept.at:
        if isinstance(kept.node, (ast.Assign, ast.AugAssign)):
            target = kept.node.target if isinstance(kept.node, ast.AugAssign) else kept.node.targets[0]
            return f"`{short(target)}` {verb} a value with its autograd graph at every step; detach it"
        return f"`{_shown(kept)}` {verb} a value with its autograd graph at every step; detach it"
    holder = f"`{short(kept.target)}`" if kept.target is not None else "a container"
    return f"`{_shown(kept)}` {verb} a value with its autograd graph, in {holder}, at every step; hand it over detached"


def _shown(kept: Kept) -> str:
    if kept.node is kept.at and kept.target is not None:
        return short(kept.target)
    return short(kept.node) if isinstance(kept.node, ast.expr) else getattr(kept.node, "name", "this")


def _notes(kept: Kept, module: Module) -> tuple[tuple[ast.AST, str], ...]:
    notes: list[tuple[ast.AST, str]] = []
    if kept.at is not kept.node:
        if kept.place.is_own:
            notes.append((kept.at, "kept here"))
        else:
            line = getattr(kept.at, "lineno", 1)
            notes.append((kept.node, f"kept in {os.path.basename(kept.place.path)}, line {line}"))
    made = [each for each in kept.holders if isinstance(each, ast.expr) and each in module.tree.parents]
    if made:
        notes.append((min(made, key=module.tree.number), "what keeps it is made here"))
    if kept.loop.node in module.tree.parents and isinstance(kept.loop.node, ast.stmt):
        notes.append((kept.loop.node, kept.loop.step))
    return tuple(notes)
