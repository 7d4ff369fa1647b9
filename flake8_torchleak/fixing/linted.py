"""A text on its way from one pass of fixing to the next: what is found in it, and what of that is to be fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding, Fix, FixLevel
from flake8_torchleak.fixing.edits import Offsets
from flake8_torchleak.fixing.verify import Witness
from flake8_torchleak.lint import lint
from flake8_torchleak.source import Source, parse
from flake8_torchleak.suppress import Suppressions

Chosen = tuple[Finding, Fix]
"""A finding, and the fix that is to end it."""


def chosen(finding: Finding, unsafe: bool) -> Fix | None:
    """The fix to apply: the first whose level is allowed."""
    return next((each for each in finding.fixes if unsafe or each.level is FixLevel.SAFE), None)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is the same in all passes over a file: settings, which codes are selected, its path, the levels of fixes.

    tells: which findings are worth telling, and fixing.
    """

    config: Config
    takes: Callable[[str], bool]
    path: str | None
    levels: Callable[[Finding], Finding]
    tells: Callable[[Finding], bool]


class Linted:
    """A text with its findings. spared: those that are not to be fixed; found: what `lint` gives for it, if known."""

    def __init__(self, text: str, terms: Terms, found: Sequence[Finding] | None = None) -> None:
        self.text, self.terms = text, terms
        self.source = Source(text)
        self.tree = parse(text)
        self.offsets = Offsets(self.source)
        self.found = lint(text, terms.config, self.tree, terms.path, fixes=True) if found is None else found
        self.findings = [terms.levels(each) for each in self.found]
        self.spared: set[tuple[str, int]] = set()
        self._suppressions = Suppressions(text)
        selected = [each for each in self.findings if terms.takes(each.code) and terms.tells(each)]
        self.shown = [each for each in selected if not self._suppressions.hides(each.code, each.span.line)]
        self.suppressed = sum(bool(each.fixes) for each in selected) - sum(bool(each.fixes) for each in self.shown)

    @cached_property
    def witness(self) -> Witness:
        """libcst's view of the text."""
        return Witness(self.source, self.tree, self.offsets)

    def wanted(self, unsafe: bool, refused: dict[Finding, str]) -> Iterator[Chosen]:
        """The findings to fix, each with its fix. A line that carries a `# noqa` for its code is not touched."""
        for each in self.shown:
            how = chosen(each, unsafe)
            if how is None or each in refused:
                continue
            if self.place(each) in self.spared:
                refused[each] = "it is in the baseline; --fix-baselined fixes those too"
                continue
            lines = {edit.span.line for edit in how.edits if not edit.text.endswith(("\n", "\r"))}
            hidden = next((line for line in sorted(lines) if self._suppressions.hides(each.code, line)), None)
            if hidden is None:
                yield each, how
            else:
                refused[each] = f"line {hidden} has a `# noqa`"

    def place(self, finding: Finding) -> tuple[str, int]:
        """The finding's code and the offset where it begins."""
        return finding.code, self.offsets.at(finding.span.line, finding.span.col)
