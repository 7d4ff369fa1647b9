"""Findings for a person: the place, the message, the source line, the evidence, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.finding import Finding, Note, Span
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.fold import folded
from flake8_torchleak.shells.report import advice, evidence, headline, tint, tinted, width
from flake8_torchleak.source import Source
from flake8_torchleak.wording import printable

_LONGEST = 160
"""A source line is cut to this many characters around its finding, or one minified file would fill the screen."""


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        out = []
        for finding in findings:
            out.append(headline(path, finding, source, self.colour, self.links, self.width))
            out += _excerpt(finding.span, source, tint(finding) if self.colour else "")
            own = len(finding.notes) - len(finding.members)
            for note in finding.notes[:own]:
                out += self._note(note, source)
            out += self._advice(finding, source)
            for note, member in zip(finding.notes[own:], finding.members):
                out += self._note(note, source)
                if member.fixes and member.fixes != finding.fixes:
                    out += self._advice(member, source)
        return "".join(line + "\n" for line in out)

    def _note(self, note: Note, source: Source) -> list[str]:
        shown = [] if note.path else _excerpt(note.span, source, "1;34" if self.colour else "")
        return [folded(f"    {evidence(note, source)}", self.width, "  "), *shown]

    def _advice(self, finding: Finding, source: Source) -> list[str]:
        return [folded(f"    {line}", self.width, "  ") for line in advice(finding, source)]


def _excerpt(span: Span, source: Source, tint: str) -> list[str]:
    """The line a span begins on, and carets under what it covers of it."""
    if span.line > len(source.lines):
        return []
    line = source.lines[span.line - 1].rstrip("\r\n")
    end = span.end_col if span.end_line == span.line else len(line.rstrip())
    before, marked, after = line[: span.col], line[span.col : end], line[end:]
    if len(line) > _LONGEST:
        before = before if len(before) <= 40 else "..." + before[-40:]
        marked = marked[:80]
        after = ""
    # Each by itself: an escape is longer than what it stands for.
    before, marked, after = printable(before), printable(marked), printable(after)
    number = f"{source.place(span.line).line:>5} | "
    pad = "".join(char if char == "\t" else " " * width(char) for char in before)
    # A tab inside the marked text counts as one: its width depends on where the terminal is by then.
    carets = "^" * max(1, sum(width(char) for char in marked))
    return [number + before + marked + after, " " * (len(number) - 2) + "| " + pad + tinted(carets, tint)]
