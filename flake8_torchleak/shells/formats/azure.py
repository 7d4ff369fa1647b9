"""Commands of Azure Pipelines, which it finds in what a step prints: each makes an error or a warning of the build.

The form and its escapes are those of the agent (`task.logissue` in its documentation of logging commands). It knows no
milder type than "warning".
"""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.shells.report import advice, label
from flake8_torchleak.source import Source
from flake8_torchleak.wording import printable

_ESCAPES = {"%": "%AZP25", ";": "%3B", "\r": "%0D", "\n": "%0A", "]": "%5D"}
"""The sign that begins the others first."""


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        return "".join(_issue(path, finding, source) for finding in findings)

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return "".join(_complaint(each) for each in complaints)


def _issue(path: str, finding: Finding, source: Source) -> str:
    place = source.place(finding.span.line)
    where: dict[str, object] = {"sourcepath": portable(path)}
    words = label(finding)
    if place.cell:  # a notebook's lines are those of its JSON, which say nothing
        words = f"{place.words}: {words}"
    else:
        where |= {"linenumber": place.line, "columnnumber": finding.span.col + 1}
    kind = "error" if finding.severity is Severity.ERROR else "warning"
    return _command(kind, {**where, "code": finding.code}, ". ".join([words, *advice(finding, source)]))


def _complaint(complaint: formats.Complaint) -> str:
    where: dict[str, object] = {"sourcepath": portable(complaint.path)} if complaint.path else {}
    if complaint.line:
        where["linenumber"] = complaint.line
    return _command("error", where, complaint.text)


def _command(kind: str, properties: dict[str, object], text: str) -> str:
    listed = "".join(f"{key}={_escaped(str(value))};" for key, value in properties.items())
    return f"##vso[task.logissue type={kind};{listed}]{_escaped(text)}\n"


def _escaped(text: str) -> str:
    text = printable(text)
    for char, escape in _ESCAPES.items():
        text = text.replace(char, escape)
    return text
