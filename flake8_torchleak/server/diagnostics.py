"""Findings as the protocol has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from lsprotocol import types
from pygls.uris import from_fs_path

from flake8_torchleak.addresses import rule_page
from flake8_torchleak.finding import Finding, Note, Severity
from flake8_torchleak.server.documents import View
from flake8_torchleak.server.moving import Moved
from flake8_torchleak.server.positions import Lines
from flake8_torchleak.wording import printable

SOURCE = "torchleak"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the editor can show. related: evidence at places of its own; links: an address behind a code."""

    related: bool = True
    links: bool = True


ByUri = dict[str, list[types.Diagnostic]]


def diagnostics(view: View, findings: Iterable[Finding], shown: Shown, text_of: Callable[[str], str]) -> ByUri:
    """The findings by URI; of a notebook every cell is there. text_of: the text of another file, by path."""
    found: ByUri = {uri: [] for uri in view.uris()}
    for each in findings:
        place = view.location(each.span)
        found[place.uri].append(_diagnostic(view, each, place.range, shown, text_of))
    return found


def _diagnostic(
    view: View, finding: Finding, where: types.Range, shown: Shown, text_of: Callable[[str], str]
) -> types.Diagnostic:
    related = [_related(view, each, text_of) for each in finding.notes] if shown.related else []
    return types.Diagnostic(
        range=where,
        message=printable(finding.message),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(rule_page(finding.code)) if shown.links else None,
        source=SOURCE,
        related_information=related or None,
    )


def _related(view: View, note: Note, text_of: Callable[[str], str]) -> types.DiagnosticRelatedInformation:
    location = view.location(note.span) if not note.path else _elsewhere(view, note, text_of)
    return types.DiagnosticRelatedInformation(location, printable(note.text))


def _elsewhere(view: View, note: Note, text_of: Callable[[str], str]) -> types.Location:
    path = os.path.abspath(note.path)
    lines = Lines.of(text_of(path), view.encoding)
    return types.Location(from_fs_path(path) or "", lines.range(note.span))


def moved(findings: Iterable[Finding], old: str, new: str) -> list[Finding]:
    """The findings of a text where they stand in what it has become; those whose lines are gone are left out."""
    moves = Moved(old, new)
    found = []
    for each in findings:
        span = moves.span(each.span)
        if span is not None:
            notes = ((note, note.span if note.path else moves.span(note.span)) for note in each.notes)
            found.append(
                replace(each, span=span, notes=tuple(replace(note, span=at) for note, at in notes if at is not None))
            )
    return found
