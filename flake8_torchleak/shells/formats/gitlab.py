"""A Code Quality report of GitLab: what a merge request shows as added and resolved, told apart by fingerprints."""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.fingerprints import Fingerprints
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.shells.report import label
from flake8_torchleak.source import Source

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


class Report(formats.Report):
    def __init__(self, colour: bool) -> None:
        super().__init__(colour)
        self._fingerprints = Fingerprints()
        self._rows: list[dict[str, object]] = []

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        for finding in findings:
            place = source.place(finding.span.line)
            # A notebook's lines are those of its JSON, which say nothing; the words say which cell.
            where, line = (f"{place.words}: ", 1) if place.cell else ("", place.line)
            self._rows.append(
                {
                    "description": where + label(finding),
                    "check_name": finding.code,
                    "fingerprint": self._fingerprints.take(path, finding, source),
                    "severity": _SEVERITIES[finding.severity],
                    "location": {"path": portable(path), "lines": {"begin": line}},
                }
            )
        return ""

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        return formats.as_json(self._rows)
