"""Annotations of a GitHub Actions run: commands that its runner finds in what a step prints.

The escapes, and that columns are for findings on one line only, follow the runner and GitHub's check runs API; the
end column is taken as inclusive, for the API fills in the first column where it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.shells.report import advice, evidence, headline
from flake8_torchleak.source import Source
from flake8_torchleak.wording import printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        return "".join(_annotation(path, finding, source) for finding in findings)

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return "".join(_complaint(complaint) for complaint in complaints)


def _annotation(path: str, finding: Finding, source: Source) -> str:
    span = finding.span
    place: dict[str, object] = {"file": portable(path)}
    if not source.place(span.line).cell:  # of a notebook GitHub knows only the lines of its JSON
        place |= {"line": span.line, "endLine": span.end_line}
    if "line" in place and span.line == span.end_line:
        place |= {"col": span.col + 1, "endColumn": max(span.col + 1, span.end_col)}
    # The log of the run shows the message alone: it names the place itself.
    text = [
        headline(path, finding, source),
        *(evidence(note, source) for note in finding.notes),
        *advice(finding, source),
    ]
    title = f"{finding.code} {finding.slug}"
    return _command(_COMMANDS[finding.severity], {**place, "title": title}, "\n".join(text))


def _complaint(complaint: formats.Complaint) -> str:
    place: dict[str, object] = {"file": portable(complaint.path)} if complaint.path else {}
    if complaint.line:
        place["line"] = complaint.line
    return _command("error", {**place, "title": "torchleak"}, complaint.text)


def _command(name: str, properties: dict[str, object], text: str) -> str:
    listed = ",".join(f"{key}={_escaped(printable(str(value)), ':,')}" for key, value in properties.items())
    return f"::{name} {listed}::{_escaped(text)}\n"


def _escaped(text: str, more: str = "") -> str:
    """`text` with what would end a command, or (`more`) one of its properties, as percent escapes."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text
