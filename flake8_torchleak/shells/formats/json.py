"""All findings as one JSON array, written when all files are done; `row` says what each of its objects holds."""

from __future__ import annotations

import json
from collections.abc import Sequence

from flake8_torchleak.finding import Finding, Fix, Span
from flake8_torchleak.shells import formats
from flake8_torchleak.source import Source


class Report(formats.Report):
    def __init__(self, colour: bool) -> None:
        super().__init__(colour)
        self._rows: list[dict[str, object]] = []

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        self._rows += [row(path, finding) for finding in findings]
        return ""

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return json.dumps(self._rows, indent=2) + "\n"


def row(path: str, finding: Finding) -> dict[str, object]:
    """A finding as a JSON object; lines and columns 1-based, columns in code points, ends exclusive."""
    return {
        "path": path,
        "code": finding.code,
        "slug": finding.slug,
        "message": finding.message,
        "severity": finding.severity.value,
        "fix": finding.fix.value,
        **_place(finding.span),
        "notes": [
            {**({"path": note.path} if note.path else {}), **_place(note.span), "text": note.text}
            for note in finding.notes
        ],
        "fixes": [_fix(fix) for fix in finding.fixes],
        "unfixed": finding.unfixed,
        "remedy": finding.remedy,
    }


def _fix(fix: Fix) -> dict[str, object]:
    edits = [{**_place(edit.span), "text": edit.text} for edit in fix.edits]
    return {"level": fix.level.value, "title": fix.title, "edits": edits}


def _place(span: Span) -> dict[str, object]:
    return {
        "line": span.line,
        "column": span.col + 1,
        "end_line": span.end_line,
        "end_column": span.end_col + 1,
    }
