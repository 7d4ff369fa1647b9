"""What the tests of the fixer share: texts before and after, and the reasons why something was left."""

from __future__ import annotations

from textwrap import dedent

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Finding
from flake8_torchleak.fixing.fix import Fixed, fix
from flake8_torchleak.shells.selection import Selection
from tests.model import IMPORTS

CODES = ("TLK101", "TLK201", "TLK202", "TLK203", "TLK301", "TLK401", "TLK402", "TLK403", "TLK404", "TLK501")
"""The rules that the short texts are about; others may find something in them as well."""

Codes = str | tuple[str, ...]


def mended(text: str, unsafe: bool = False, codes: Codes = CODES) -> Fixed:
    """What becomes of a whole file, by the rules that are on and whose code begins with one of `codes`."""
    on = Selection()
    return fix(text, DEFAULT, unsafe, lambda code: on.takes(code) and code.startswith(codes))


def fixed(text: str, unsafe: bool = False, codes: Codes = CODES) -> str:
    """A text under the common imports, after its fixes."""
    after = mended(IMPORTS + dedent(text), unsafe, codes).text
    assert after.startswith(IMPORTS), "the common imports are to be reused"
    return after[len(IMPORTS) :]


def left(text: str, unsafe: bool = False, codes: Codes = CODES) -> list[Finding]:
    """What stays of the findings in a text under the common imports, of which nothing is to be changed."""
    done = mended(IMPORTS + dedent(text), unsafe, codes)
    assert done.text == IMPORTS + dedent(text)
    assert done.fixed == ()
    return list(done.left)


def reasons(text: str, unsafe: bool = False, codes: Codes = CODES) -> list[str]:
    """Why each finding of a text stays."""
    return [each.unfixed for each in left(text, unsafe, codes)]
