"""Where the documentation is. The one place that knows: reports, the site and the README take addresses from here.

People are led to the pages in the repository (`DOCS`), which are there wherever it is. Formats that ask for an absolute
address (JSON, SARIF, links of terminals and editors) get that of the site.
"""

from __future__ import annotations

SITE = "https://flake8-torchleak.readthedocs.io/en/latest/"
"""The site's first page; it ends in a slash."""


DOCS = "docs/"
"""The folder of the repository that the site is made of."""


def rule_file(code: str) -> str:
    """The page of a rule, or of one of our own codes, in the repository; `python -m website` writes it."""
    return f"{DOCS}rules/{code}.md"


def rule_page(code: str) -> str:
    """The page of a rule, or of one of our own codes. It never moves: codes are never reused."""
    return f"{SITE}rules/{code}/"
