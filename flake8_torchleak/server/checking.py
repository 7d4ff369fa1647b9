"""What is found in what the editor shows: the part that runs in the worker's thread."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from flake8_torchleak.finding import Finding, gathered
from flake8_torchleak.lint import Early, lint
from flake8_torchleak.model.reading import Question, reading
from flake8_torchleak.model.reparsing import Reparser
from flake8_torchleak.server.documents import View
from flake8_torchleak.server.overlay import Overlay
from flake8_torchleak.server.policies import Policies, Terms
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.selection import INTERNAL

_MOST_KEPT = 8
"""Texts whose findings, fixes included, are kept for the next question about them."""
_MOST_PARSED = 8
"""Texts whose trees, and questions about other files, are kept for their next versions."""


class Checked(NamedTuple):
    """What became of a text. findings: None where it does not parse; asked: what of other files was asked for."""

    findings: list[Finding] | None
    asked: tuple[Question, ...] = ()


class Checker:
    """Checks texts. tell: told, one line, of what the user should know; where it is told again is not its business."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.overlay = Overlay()
        self.policies = Policies(tell)
        self._tell = tell
        self._whole: dict[tuple[str, str, Policy], list[Finding]] = {}
        self._parsers: dict[str, Reparser] = {}
        self._asked: dict[str, dict[str, None]] = {}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Other files are read as the editor shows them; the collector does not go through syntax trees."""
        collects = gc.isenabled()
        gc.disable()
        try:
            with reading(self.overlay):
                yield
        finally:
            if collects:
                gc.enable()

    def show(self, texts: Mapping[str, str]) -> frozenset[str]:
        """Take in what is open; what has changed with it, as `Overlay.changed` gives it."""
        changed = self.overlay.show(texts)
        if changed:
            self._whole.clear()
        return changed

    def look(self) -> tuple[frozenset[str], bool]:
        """Take in what has changed on disk: as `show`, and whether settings did."""
        paths = self.overlay.behind()
        settings = self.policies.behind()
        if settings:
            self.policies.forget()
        if paths:
            self._whole.clear()
        return self.overlay.changed(paths), settings

    def check(self, view: View, tell: Callable[[list[Finding]], None] = lambda _: None) -> Checked:
        """What is found in a text, as the command reports it.

        tell: told the same as soon as that is likely, which it is not before a text was checked once.
        """
        terms = self.policies.of(view.path)
        if terms.leaves_out(view.path):
            return Checked([])
        with self.reading(), self.overlay.noted() as asked:
            path, policy, wanted = view.path or None, terms.policy, terms.policy.wanted(view.path)
            early = Early(lambda found: tell(self._reported(view, terms, found)), self._asked.get(view.uri, {}))
            try:
                found = lint(
                    view.text, policy.config, path=path, wanted=wanted, parsing=self._parser(view.uri), early=early
                )
            except SyntaxError:
                return Checked(None, tuple(asked))
            finally:
                self._asked[view.uri] = early.wanted
            return Checked(self._reported(view, terms, found), tuple(asked))

    def _parser(self, uri: str) -> Reparser:
        """What parses the versions of a text; of those that were checked last it knows the version before."""
        found = self._parsers.pop(uri) if uri in self._parsers else Reparser()
        self._parsers[uri] = found
        while len(self._parsers) > _MOST_PARSED:
            gone = next(iter(self._parsers))
            del self._parsers[gone]
            self._asked.pop(gone, None)
        return found

    def _reported(self, view: View, terms: Terms, found: list[Finding]) -> list[Finding]:
        for each in found:
            if each.code == INTERNAL:
                self._tell(f"{view.path or view.uri}: {each.message}")
        standing = terms.policy.standing(view.path, view.text, found)
        return gathered(each for each in standing if each.code != INTERNAL)

    def fixable(self, view: View) -> list[Finding]:
        """The same findings with their fixes; none where the text does not parse, or is only a part of a notebook."""
        terms = self.policies.of(view.path)
        if terms.leaves_out(view.path) or (view.notebook is not None and view.notebook.broken):
            return []
        key = view.uri, view.text, terms.policy
        if key not in self._whole:
            with self.reading():
                try:
                    wanted = terms.policy.wanted(view.path)
                    found = lint(view.text, terms.policy.config, path=view.path or None, fixes=True, wanted=wanted)
                except SyntaxError:
                    found = []
            while len(self._whole) >= _MOST_KEPT:
                del self._whole[next(iter(self._whole))]
            self._whole[key] = found
        return self._reported(view, terms, self._whole[key])
