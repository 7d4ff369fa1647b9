"""Reviewdog's diagnostics (RDFormat), one JSON object a line: columns count bytes of UTF-8, ends are exclusive.

A fix that is safe comes as a suggestion. Its edits are one, so that nobody takes half of it: what stands between them
is part of the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.addresses import SITE, rule_page
from flake8_torchleak.finding import Finding, Severity, Span
from flake8_torchleak.fixing.edits import Batch, Offsets
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.shells.report import advice, evidence, label, safe_fix
from flake8_torchleak.source import Source
from flake8_torchleak.wording import printable

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}

Object = dict[str, object]


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        return "".join(formats.as_json(_diagnostic(path, each, source), indent=None) for each in findings)

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return "".join(formats.as_json(_complaint(each), indent=None) for each in complaints if each.path)


def _diagnostic(path: str, finding: Finding, source: Source) -> Object:
    # Of a notebook reviewdog knows only the lines of its JSON: words say which cell.
    place = source.place(finding.span.line)
    text = [
        f"{place.words}: " * bool(place.cell) + label(finding),
        *(evidence(note, source) for note in finding.notes),
        *advice(finding, source),
    ]
    return {
        "message": "\n".join(text),
        "location": {"path": portable(path), **({} if place.cell else {"range": _range(finding.span, source)})},
        "severity": _SEVERITIES[finding.severity],
        "source": {"name": "torchleak", "url": SITE},
        "code": {"value": finding.code, "url": rule_page(finding.code)},
        **({} if place.cell else _suggestions(finding, source)),
    }


def _suggestions(finding: Finding, source: Source) -> Object:
    fix = safe_fix(finding)
    if fix is None:
        return {}
    offsets = Offsets(source)
    batch = Batch(offsets)
    batch.add(fix)
    edits = list(batch)
    text, at = "", edits[0].start
    for edit in edits:
        text += source.text[at : edit.start] + edit.text
        at = edit.end
    spans = [each.span for each in fix.edits]
    first, last = min(spans), max(spans, key=lambda span: (span.end_line, span.end_col))
    whole = Span(first.line, first.col, last.end_line, last.end_col)
    return {"suggestions": [{"range": _range(whole, source), "text": text}]}


def _range(span: Span, source: Source) -> Object:
    return {"start": _position(span.line, span.col, source), "end": _position(span.end_line, span.end_col, source)}


def _position(line: int, col: int, source: Source) -> Object:
    text = "".join(source.lines[line - 1 : line])[:col]
    return {"line": line, "column": len(text.encode(errors="surrogatepass")) + 1}


def _complaint(complaint: formats.Complaint) -> Object:
    at: Object = {"range": {"start": {"line": complaint.line}}} if complaint.line else {}
    return {
        "message": printable(complaint.text),
        "location": {"path": portable(complaint.path), **at},
        "severity": "ERROR",
        "source": {"name": "torchleak", "url": SITE},
    }
