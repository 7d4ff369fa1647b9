"""Rules describe themselves: the README's table is theirs, and every rule has a page worth reading."""

from __future__ import annotations

import re

import pytest

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.rule import Rule, all_rules, rule_table
from tests.conftest import ROOT
from tests.readme import filled

SECTIONS = ("Leaks", "Holds", "Why", "Measured", "Silent when", "Fix")
RULES = all_rules()


def test_the_readme_is_up_to_date() -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    assert shown == filled(shown), "run: python -m tests.readme"
    assert rule_table() in shown


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
