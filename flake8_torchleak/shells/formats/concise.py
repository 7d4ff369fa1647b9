"""One line for each finding, as flake8 prints them: what grep and the error lists of editors expect."""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.finding import Finding
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.report import headline
from flake8_torchleak.source import Source


class Report(formats.Report):
    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        return "".join(headline(path, finding, source, self.colour, self.links) + "\n" for finding in findings)
