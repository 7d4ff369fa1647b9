"""Answers to what an editor asks: actions, their edits, and what a rule is about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pygls.uris import from_fs_path

from flake8_torchleak.config import ConfigError
from flake8_torchleak.finding import Finding
from flake8_torchleak.server.actions import FIX, Offer, all_safe, offers, result
from flake8_torchleak.server.checking import Checker
from flake8_torchleak.server.diagnostics import Shown, diagnostics
from flake8_torchleak.server.documents import View
from flake8_torchleak.server.explaining import code_at, short_form
from flake8_torchleak.server.moving import edits
from flake8_torchleak.server.positions import Lines
from flake8_torchleak.server.silencing import settings_file, text_of, without
from flake8_torchleak.source import SourceError

FIX_ALL = "source.fixAll.torchleak"
EXPLAIN = "torchleak.explain"

Versions = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Able:
    """What the editor is able to do. later: it asks for the edits of an action when somebody chooses it; versions: it
    takes edits that name the version they are for; creates: it makes new files; markdown: it shows Markdown."""

    later: bool = False
    versions: bool = False
    creates: bool = False
    markdown: bool = False


class Asked:
    """Questions about one view of a document, answered in the worker's thread. versions: of what is open, by URI."""

    def __init__(self, checker: Checker, view: View, able: Able, versions: Versions) -> None:
        self._checker, self._view, self._able, self._versions = checker, view, able, versions

    def actions(self, uri: str, where: types.Range, context: types.CodeActionContext) -> list[types.CodeAction]:
        """What can be done about the findings in a range of `uri`, and about those that the editor names.

        Neovim and others ask for the place of the cursor, and name all that is found in its line.
        """
        found = self._checker.fixable(self._view)
        named = {(each.code, _pair(each.range.start)) for each in context.diagnostics}
        here = [each for each in found if self._is_in(each, uri, where) or self._is_among(each, uri, named)]
        only = None if context.only is None else [str(getattr(kind, "value", kind)) for kind in context.only]
        kinds = [types.CodeActionKind.QuickFix.value, FIX_ALL]
        quick, everything = (only is None or any(f"{kind}.".startswith(f"{each}.") for each in only) for kind in kinds)
        actions = [action for each in here if quick for action in self._quick(uri, each)]
        if everything and any(offer.safe for each in found for offer in offers(each)):
            title = "Fix all that torchleak can fix safely"
            action = types.CodeAction(title, FIX_ALL, data={"uri": uri})
            actions += self._edited(action, lambda: all_safe(self._checker, self._view))
        return actions

    def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """An action with its edit; without it where it holds no more."""
        data: dict[str, Any] = action.data if isinstance(action.data, dict) else {}
        if action.kind == FIX_ALL:
            action.edit = self._edit(all_safe(self._checker, self._view))
            return action
        for finding in self._checker.fixable(self._view):
            for offer in offers(finding):
                if [offer.title, *_place(offer)] == [action.title, *data.get("place", [])]:
                    action.edit = self._edit(result(self._checker, self._view, offer))
        return action

    def hover(self, uri: str, position: types.Position, findings: list[Finding]) -> types.Hover | None:
        """What the rules are about whose findings, or whose codes in a comment, are at a position."""
        at = types.Range(position, position)
        found = {each.code: self._view.location(each.span) for each in findings if self._is_in(each, uri, at)}
        line = self._view.line(uri, position.line)
        lines = Lines(self._view.source.lines, self._view.encoding)
        if line and line <= len(lines.lines):
            _, col = lines.place(types.Position(line - 1, position.character))
            code = code_at(lines.lines[line - 1], col)
            if code and code not in found:
                found[code] = types.Location(uri, at)
        texts = {code: short_form(code, self._able.markdown) for code in found}
        texts = {code: text for code, text in texts.items() if text}
        if not texts:
            return None
        kind = types.MarkupKind.Markdown if self._able.markdown else types.MarkupKind.PlainText
        where = found[next(iter(texts))].range
        return types.Hover(
            types.MarkupContent(kind, "\n\n---\n\n".join(texts.values())), where if where != at else None
        )

    def _is_in(self, finding: Finding, uri: str, where: types.Range) -> bool:
        place = self._view.location(finding.span)
        start, end = _pair(place.range.start), _pair(place.range.end)
        return place.uri == uri and start <= _pair(where.end) and _pair(where.start) <= end

    def _is_among(self, finding: Finding, uri: str, named: set[tuple[int | str | None, tuple[int, int]]]) -> bool:
        place = self._view.location(finding.span)
        return place.uri == uri and (finding.code, _pair(place.range.start)) in named

    def _quick(self, uri: str, finding: Finding) -> Iterator[types.CodeAction]:
        found = diagnostics(self._view, [finding], Shown(), self._checker.overlay.lines_of)[uri]
        preferred = True
        for offer in offers(finding):
            action = types.CodeAction(
                offer.title,
                types.CodeActionKind.QuickFix,
                diagnostics=found,
                is_preferred=(preferred and offer.safe) or None,
                data={"uri": uri, "place": _place(offer)},
            )
            preferred = preferred and not offer.safe
            if offer.kind == FIX:
                yield from self._edited(action, lambda offer=offer: result(self._checker, self._view, offer))
            else:
                action.edit = self._edit(result(self._checker, self._view, offer))
                yield from [action] * (action.edit is not None)
        yield from self._settings(finding, found)
        command = types.Command(f"Explain {finding.code}", EXPLAIN, arguments=[finding.code])
        yield types.CodeAction(command.title, types.CodeActionKind.QuickFix, diagnostics=found, command=command)

    def _edited(self, action: types.CodeAction, work: Any) -> Iterator[types.CodeAction]:
        """The action, with its edit unless the editor asks for that later; none where it does not hold."""
        if not self._able.later:
            action.edit = self._edit(work())
            if action.edit is None:
                return
        yield action

    def _settings(self, finding: Finding, found: list[types.Diagnostic]) -> Iterator[types.CodeAction]:
        """A rule switched off for all of the workspace folder."""
        try:
            file = settings_file(self._checker.policies.folder(self._view.path))
        except ConfigError:
            return
        old = text_of(file)
        new = without(old or "", finding.code)
        uri = from_fs_path(file)
        if new is None or uri is None or (old is None and (os.path.exists(file) or not self._able.creates)):
            return
        lines = Lines.of(old or "", self._view.encoding)
        changes = [types.TextEdit(lines.range(each.span), each.text) for each in edits(old or "", new)]
        edit = self._of({uri: changes}, [types.CreateFile(uri)] * (old is None))
        title = f"Silence {finding.code} everywhere, in {os.path.basename(file)}"
        yield types.CodeAction(title, types.CodeActionKind.QuickFix, diagnostics=found, edit=edit)

    def _edit(self, text: str) -> types.WorkspaceEdit | None:
        """What makes a text of what is open; None where nothing is to be done, or cannot be."""
        try:
            changes = self._view.changes(text)
        except SourceError:
            return None
        return self._of(changes, []) if changes else None

    def _of(self, changes: dict[str, list[types.TextEdit]], created: list[types.CreateFile]) -> types.WorkspaceEdit:
        if not self._able.versions and not created:
            return types.WorkspaceEdit(changes=changes)
        versioned = [
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(uri, self._versions.get(uri)), list(each)
            )
            for uri, each in changes.items()
        ]
        return types.WorkspaceEdit(document_changes=[*created, *versioned])


def _place(offer: Offer) -> list[object]:
    """What tells an offer from others of the same title."""
    span = offer.finding.span
    return [offer.finding.code, span.line, span.col, span.end_line, span.end_col]


def _pair(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
