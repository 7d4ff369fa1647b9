"""What the documents tell users to write, taken from their fenced blocks."""

from __future__ import annotations

import re

from tests.conftest import ROOT


def block(page: str, heading: str, number: int = 0) -> str:
    """The fenced block of that number below a heading of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    _, found, rest = text.partition(f"\n## {heading}\n")
    assert found, heading
    blocks = re.findall(r"^```\w+\n(.*?)^```$", rest.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    return str(blocks[number])
