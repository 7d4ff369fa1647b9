"""Where the documentation is. The one place that knows: reports, the site and the README take addresses from here."""

from __future__ import annotations

SITE = "https://flake8-torchleak.readthedocs.io/en/latest/"
"""The site's first page; it ends in a slash."""


def rule_page(code: str) -> str:
    """The page of a rule, or of one of our own codes. It never moves: codes are never reused."""
    return f"{SITE}rules/{code}/"
