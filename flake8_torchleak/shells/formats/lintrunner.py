"""Messages of a linter for lintrunner, one JSON object a line.

lintrunner takes the text of one message for the whole new file, and one such message a file: the findings that can be
fixed safely are one message. Columns count characters.
"""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.disk import read
from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.fixing.edits import Batch, Edited, Offsets
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.shells.report import advice, evidence, label, safe_fix
from flake8_torchleak.source import Source, parse

_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "advice"}

Object = dict[str, object]


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        fixed, text = _fixed(path, findings, source)
        messages = [_message(path, [each], source) for each in findings if each not in fixed]
        if fixed:
            messages.append(_message(path, fixed, source) | {"original": source.text, "replacement": text})
        return "".join(formats.as_json(each, indent=None) for each in messages)

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return "".join(formats.as_json(_complaint(each), indent=None) for each in complaints)


def _fixed(path: str, findings: Sequence[Finding], source: Source) -> tuple[list[Finding], str]:
    """Findings whose safe fixes can be applied together, and the text with them; none where lintrunner would spoil it.

    It writes UTF-8 without a mark, so it must be that what was read; a notebook is not.
    """
    batch = Batch(Offsets(source))
    fixes = ((each, safe_fix(each)) for each in findings)
    fixed = [each for each, fix in fixes if fix is not None and batch.add(fix)]
    if not fixed:
        return [], ""
    text = Edited(source.text, batch).text
    try:
        parse(text)
        same = read(path) == source.text.encode()
    except (OSError, SyntaxError, UnicodeEncodeError):
        same = False
    return (fixed, text) if same else ([], "")


def _message(path: str, findings: Sequence[Finding], source: Source) -> Object:
    first = findings[0]
    place = source.place(first.span.line)
    where: Object = {} if place.cell else {"line": place.line, "char": first.span.col + 1}
    worst = min(findings, key=lambda each: list(Severity).index(each.severity))
    told = []
    for each in findings:
        words = f"{source.place(each.span.line).words}: " if place.cell or len(findings) > 1 else ""
        told += [words + label(each), *(evidence(note, source) for note in each.notes), *advice(each, source)]
    names = dict.fromkeys(f"{each.code} {each.slug}" for each in findings)
    return {
        "path": portable(path),
        "line": None,
        "char": None,
        **where,
        "code": "TORCHLEAK",
        "severity": _SEVERITIES[worst.severity],
        "name": ", ".join(names),
        "original": None,
        "replacement": None,
        "description": "\n".join(told),
    }


def _complaint(complaint: formats.Complaint) -> Object:
    return {
        "path": portable(complaint.path) if complaint.path else None,
        "line": complaint.line or None,
        "char": None,
        "code": "TORCHLEAK",
        "severity": "error",
        "name": "not checked",
        "original": None,
        "replacement": None,
        "description": complaint.text,
    }
