"""The documents that people read, and the fenced blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

FILES = (ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block. heading: the nearest one above it."""

    file: Path
    heading: str
    language: str
    text: str

    @property
    def name(self) -> str:
        """For the reports of tests."""
        return f"{self.file.name}: {self.heading}"


def blocks(*languages: str) -> list[Block]:
    """All blocks of some languages, in all documents."""
    found = []
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            headings = _HEADING.findall(text[: match.start()])
            found.append(Block(file, headings[-1] if headings else "", match[1], match[2]))
    return [each for each in found if each.language in languages]
