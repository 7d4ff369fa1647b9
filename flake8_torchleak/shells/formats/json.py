"""All findings as one JSON array, written when all files are done; `row` says what each of its objects holds."""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.addresses import rule_page
from flake8_torchleak.finding import Finding, Fix, Span
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.report import placed
from flake8_torchleak.source import Source


class Report(formats.Report):
    def __init__(self, colour: bool) -> None:
        super().__init__(colour)
        self._rows: list[dict[str, object]] = []

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        self._rows += [row(path, finding, source) for finding in findings]
        return ""

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return formats.as_json(self._rows)


def row(path: str, finding: Finding, source: Source) -> dict[str, object]:
    """A finding as a JSON object; lines and columns 1-based, columns in code points, ends exclusive.

    In a notebook each place has its `cell`, and lines count in it.
    """
    return {
        "path": path,
        "code": finding.code,
        "slug": finding.slug,
        "message": finding.message,
        "severity": finding.severity.value,
        "reason": placed(finding.reason, source),
        "fix": finding.fix.value,
        **_place(finding.span, source),
        "notes": [
            {"path": note.path, **_place(note.span, Source("")), "text": note.text}
            if note.path
            else {**_place(note.span, source), "text": note.text}
            for note in finding.notes
        ],
        "fixes": [_fix(fix, source) for fix in finding.all_fixes],
        "unfixed": placed(finding.unfixed, source),
        "remedy": finding.remedy,
        "conventions": list(finding.conventions),
        "url": rule_page(finding.code),
    }


def _fix(fix: Fix, source: Source) -> dict[str, object]:
    edits = [{**_place(edit.span, source), "text": edit.text} for edit in fix.edits]
    return {"level": fix.level.value, "title": fix.title, "edits": edits}


def _place(span: Span, source: Source) -> dict[str, object]:
    start, end = source.place(span.line), source.place(span.end_line)
    return {
        **({"cell": start.cell} if start.cell else {}),
        "line": start.line,
        "column": span.col + 1,
        "end_line": end.line,
        "end_column": span.end_col + 1,
    }
