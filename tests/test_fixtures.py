"""Fixtures are the specification: every marked line is found, and nothing else is, by any rule.

`# TLK401` at a line's end is exactly one finding of that code on that line; `# TLK401 missed` is a known missed
leak (the test fails when it starts to be found, so that the marker goes).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.rule import all_rules

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(path for path in FIXTURES.glob("*/*.py") if path.name != "proof.py")
MARKER = re.compile(r"#\s*((?:TLK\d{3}\s*)+)(missed|no-fix)?\s*(?:#|$)")


def marked(text: str) -> tuple[Counter[tuple[int, str]], set[tuple[int, str]]]:
    """(expected findings by line and code, known missed ones)."""
    expected: Counter[tuple[int, str]] = Counter()
    missed: set[tuple[int, str]] = set()
    for number, line in enumerate(text.splitlines(), 1):
        match = MARKER.search(line)
        for code in match[1].split() if match else []:
            if match and match[2] == "missed":
                missed.add((number, code))
            else:
                expected[number, code] += 1
    return expected, missed


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_findings_are_the_marked_ones(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    expected, missed = marked(text)
    found = Counter((each.span.line, each.code) for each in lint(text))
    assert found == expected, f"expected but not found: {expected - found}; found but not expected: {found - expected}"
    assert not missed & set(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_fixture_is_what_its_name_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = path.parent.name.partition("_")[0]
    expected, missed = marked(text)
    assert ast.get_docstring(ast.parse(text)), "says in its docstring what it shows"
    if path.name.startswith("bad_"):
        assert any(marker == code for _, marker in [*expected, *missed])
    else:
        assert path.name.startswith("good_")
        assert not expected


def test_every_rule_has_bad_fixtures_and_at_least_as_many_good_ones() -> None:
    for rule in all_rules():
        folder = FIXTURES / f"{rule.code}_{rule.slug.replace('-', '_')}"
        bad, good = list(folder.glob("bad_*.py")), list(folder.glob("good_*.py"))
        assert len(bad) >= 3, folder
        assert len(good) >= len(bad), folder


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_findings_are_one_clear_line_with_evidence_in_the_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for each in lint(text):
        assert "\n" not in each.message
        assert not each.message.endswith(".")
        assert len(each.message) <= 160, each.message
        for span in (each.span, *(note.span for note in each.notes)):
            assert 1 <= span.line <= span.end_line <= len(lines)
            assert 0 <= span.col <= len(lines[span.line - 1])
            assert span.col < span.end_col <= len(lines[span.end_line - 1]) or span.line < span.end_line
