"""Rules describe themselves: every rule has a page worth reading."""

from __future__ import annotations

import re

import pytest

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.rule import Rule, all_rules

SECTIONS = ("Leaks", "Instead", "Why", "Measured", "When it stays silent", "How to fix it")
RULES = all_rules()


def test_codes_and_slugs_are_unique() -> None:
    assert len({each.code for each in RULES}) == len({each.slug for each in RULES}) == len(RULES) > 0


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_the_file_is_named_after_the_rule(each: Rule) -> None:
    name = each.check.__module__.rpartition(".")[2]
    assert name == f"{each.code}_{each.slug}".lower().replace("-", "_")
    assert re.fullmatch(r"TLK[1-69][0-9]{2}", each.code)
    assert isinstance(each.fix, FixLevel)
    assert isinstance(each.severity, Severity)
    assert each.default is (each.code < "TLK900")


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_the_page_has_its_sections(each: Rule) -> None:
    assert each.page.startswith(f"{each.slug}: ")
    assert each.summary
    assert "|" not in each.summary
    headings = re.findall(r"^(.+)\n-+$", each.page, re.MULTILINE)
    assert tuple(headings) == SECTIONS
    for heading, underline in re.findall(r"^(.+)\n(-+)$", each.page, re.MULTILINE):
        assert len(underline) == len(heading)
    bodies = re.split(r"^.+\n-+$", each.page, flags=re.MULTILINE)[1:]
    assert all(body.strip() for body in bodies)
