"""Findings as plain data and back. What comes back may have been written by anybody: each part is looked at.

Nothing but lists, texts, whole numbers and booleans: what is read is never run, and never trusted to be well formed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from flake8_torchleak.finding import Edit, Finding, Fix, FixLevel, Note, Severity, Span

T = TypeVar("T")


def packed(findings: Iterable[Finding]) -> list[object]:
    """Findings as they come from `lint`, none of them gathered, as plain data."""
    return [_packed(each) for each in findings]


def packed_error(error: SyntaxError) -> list[object]:
    """Why a file does not parse, in the place of its findings."""
    return ["error", error.msg, error.lineno or 0, error.offset or 0]


def unpacked(data: object) -> list[Finding]:
    """The findings. Raises SyntaxError if there are none for that reason, ValueError for data that is no such thing."""
    if _the(list, data)[:1] == ["error"]:
        _, message, line, column = _the(list, data)
        raise SyntaxError(_the(str, message), (None, _the(int, line) or None, _the(int, column), None))
    return [_unpacked(each) for each in _the(list, data)]


def _packed(finding: Finding) -> list[object]:
    return [
        finding.code,
        finding.slug,
        finding.message,
        _span(finding.span),
        finding.severity.value,
        finding.fix.value,
        # A path is told as it is seen from where the command runs.
        [[_span(each.span), each.text, os.path.abspath(each.path) if each.path else ""] for each in finding.notes],
        [
            [fix.level.value, fix.title, [[_span(each.span), each.text] for each in fix.edits], fix.early]
            for fix in finding.fixes
        ],
        finding.remedy,
        finding.unfixed,
        [] if finding.under is None else [finding.under[0], _span(finding.under[1])],
        list(finding.conventions),
        finding.reason,
    ]


def _unpacked(data: object) -> Finding:
    code, slug, message, span, severity, fix, notes, fixes, remedy, unfixed, under, conventions, reason = _the(
        list, data
    )
    return Finding(
        code=_the(str, code),
        slug=_the(str, slug),
        message=_the(str, message),
        span=_as_span(span),
        severity=Severity(severity),
        fix=FixLevel(fix),
        notes=tuple(_note(*_the(list, each)) for each in _the(list, notes)),
        fixes=tuple(_fix(*_the(list, each)) for each in _the(list, fixes)),
        remedy=_the(str, remedy),
        unfixed=_the(str, unfixed),
        under=_under(*under) if _the(list, under) else None,
        conventions=tuple(_the(str, each) for each in _the(list, conventions)),
        reason=_the(str, reason),
    )


def _note(span: object, text: object, path: object) -> Note:
    place = _the(str, path)
    return Note(_as_span(span), _the(str, text), os.path.relpath(place) if place else "")


def _fix(level: object, title: object, edits: object, early: object) -> Fix:
    return Fix(
        FixLevel(level), _the(str, title), tuple(_edit(*_the(list, e)) for e in _the(list, edits)), _the(bool, early)
    )


def _edit(span: object, text: object) -> Edit:
    return Edit(_as_span(span), _the(str, text))


def _under(code: object, span: object) -> tuple[str, Span]:
    return _the(str, code), _as_span(span)


def _span(span: Span) -> list[int]:
    return [span.line, span.col, span.end_line, span.end_col]


def _as_span(data: object) -> Span:
    line, column, end_line, end_column = (_the(int, each) for each in _the(list, data))
    if min(line, end_line) < 1 or min(column, end_column) < 0:
        raise ValueError("no place in a text")
    return Span(line, column, end_line, end_column)


def _the(kind: type[T], value: object) -> T:
    """A value of just this type."""
    if type(value) is not kind:
        raise ValueError(f"no {kind.__name__}: {value!r:.80}")
    return value
