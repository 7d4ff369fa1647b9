"""Findings as text for people and as JSON for programs. Columns shown are 1-based, as flake8 shows them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

from flake8_torchleak.finding import Finding, Fix, FixLevel, Severity, Span
from flake8_torchleak.source import Place

Where = Callable[[int], Place]
"""Where a 1-based line of the text that was checked stands for the user."""

_LONGEST = 160
"""A source line is cut to this many characters around its finding, or one minified file would fill the screen."""

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}


def wants_colour(stream: TextIO, refused: bool) -> bool:
    """Whether to colour what goes to `stream`: on a terminal that can, unless refused or NO_COLOR is set."""
    return not refused and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text(path: str, findings: Iterable[Finding], lines: Sequence[str], colour: bool, where: Where = Place) -> str:
    """The findings of one file for a person: the place, the message, the source line, and the evidence."""
    out = []
    for finding in findings:
        tint = _COLOURS[finding.severity] if colour else ""
        place = f"{printable(path)}:{where(finding.span.line)}:{finding.span.col + 1}:"
        out.append(
            f"{_tinted(place, '1' if colour else '')} {_tinted(finding.code, tint)} {finding.message} [{finding.slug}]"
        )
        out += _excerpt(finding.span, lines, tint, where)
        for note in finding.notes:
            if note.path:
                out.append(f"    note: {printable(note.path)}:{note.span.line}: {note.text}")
                continue
            out.append(f"    note: {where(note.span.line).words}: {note.text}")
            out += _excerpt(note.span, lines, "1;34" if colour else "", where)
        out += [f"    {line}" for line in _advice(finding, where)]
    return "".join(line + "\n" for line in out)


def rows(path: str, findings: Iterable[Finding], where: Where = Place) -> list[dict[str, object]]:
    """The findings of one file as JSON objects; lines and columns 1-based, columns in code points, ends exclusive.

    In a notebook each place has its `cell`, and lines count in it.
    """
    return [
        {
            "path": path,
            "code": finding.code,
            "slug": finding.slug,
            "message": finding.message,
            "severity": finding.severity.value,
            "fix": finding.fix.value,
            **_place(finding.span, where),
            "notes": [
                {"path": note.path, **_place(note.span), "text": note.text}
                if note.path
                else {**_place(note.span, where), "text": note.text}
                for note in finding.notes
            ],
            "fixes": [_fix(fix, where) for fix in finding.fixes],
            "unfixed": _placed(finding.unfixed, where),
            "remedy": finding.remedy,
        }
        for finding in findings
    ]


def _advice(finding: Finding, where: Where) -> Iterator[str]:
    """What can be done: the fix (or why there is none), or else the remedy."""
    mildest = next((fix for fix in finding.fixes if fix.level is finding.fixable), None)
    if mildest is not None:
        yield f"fix ({mildest.level.value}): {mildest.title}"
    if finding.unfixed and (mildest is not None or finding.fix is not FixLevel.HINT):
        yield f"not fixed: {_placed(finding.unfixed, where)}"
    if finding.remedy and mildest is None:
        yield f"remedy: {finding.remedy}"


def statistics(counts: dict[tuple[str, str], int]) -> str:
    """How often each (code, slug) was found, the code first."""
    return "".join(f"{count:>6} {code} {slug}\n" for (code, slug), count in sorted(counts.items()))


def printable(line: str) -> str:
    """`line` with control characters replaced, so that a file (or its name) cannot steer the reader's terminal."""
    return "".join("?" if unicodedata.category(char) == "Cc" and char != "\t" else char for char in line)


def _fix(fix: Fix, where: Where) -> dict[str, object]:
    edits = [{**_place(edit.span, where), "text": edit.text} for edit in fix.edits]
    return {"level": fix.level.value, "title": fix.title, "edits": edits}


def _place(span: Span, where: Where = Place) -> dict[str, object]:
    start, end = where(span.line), where(span.end_line)
    return {
        **({"cell": start.cell} if start.cell else {}),
        "line": start.line,
        "column": span.col + 1,
        "end_line": end.line,
        "end_column": span.end_col + 1,
    }


def _placed(text: str, where: Where) -> str:
    """A sentence that names lines, as the user counts them."""
    return re.sub(r"\bline (\d+)\b", lambda line: where(int(line[1])).words, text)


def _excerpt(span: Span, lines: Sequence[str], tint: str, where: Where) -> list[str]:
    """The line a span begins on, and carets under what it covers of it."""
    if span.line > len(lines):
        return []
    line = printable(lines[span.line - 1].rstrip("\r\n"))
    end = span.end_col if span.end_line == span.line else len(line.rstrip())
    before, marked, after = line[: span.col], line[span.col : end], line[end:]
    if len(line) > _LONGEST:
        before = before if len(before) <= 40 else "..." + before[-40:]
        marked = marked[:80]
        after = ""
    number = f"{where(span.line).line:>5} | "
    pad = "".join(char if char == "\t" else " " * _width(char) for char in before)
    # A tab inside the marked text counts as one: its width depends on where the terminal is by then.
    carets = "^" * max(1, sum(_width(char) for char in marked))
    return [number + before + marked + after, " " * (len(number) - 2) + "| " + pad + _tinted(carets, tint)]


def _width(char: str) -> int:
    """The columns of a terminal that `char` fills: 2 for wide ones, 0 for those drawn onto the one before."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _tinted(text: str, tint: str) -> str:
    return f"\x1b[{tint}m{text}\x1b[0m" if tint else text
