"""Each finding as a JSON object on a line of its own, written as soon as its file is done."""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.finding import Finding
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.formats.json import row
from flake8_torchleak.source import Source


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        return "".join(formats.as_json(row(path, finding, source), indent=None) for finding in findings)
