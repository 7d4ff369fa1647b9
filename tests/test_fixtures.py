"""Fixtures are the specification: every marked line is found, and nothing else is, by any rule.

`# TLK401` at a line's end is exactly one finding of that code on that line; `# TLK401 missed` is a known missed
leak (the test fails when it starts to be found, so that the marker goes); `# TLK401 no-fix` is found and not fixed
although the rule has a fix. `fixed_x.py` is `bad_x.py` as `--fix --unsafe-fixes` leaves it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Finding, FixLevel, Severity, gathered
from flake8_torchleak.fixing.fix import Fixed, fix
from flake8_torchleak.lint import lint
from flake8_torchleak.rule import all_rules

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(path for path in FIXTURES.glob("*/*.py") if path.name != "proof.py")
PAIRS = [path for path in FILES if path.name.startswith("fixed_")]
CODE = r"TLK\d{3}(?: missed| no-fix)?"
MARKER = re.compile(rf"[ \t]*#[ ]*((?:{CODE}[ ]*)+)$", re.MULTILINE)


def marks(text: str) -> list[tuple[int, str, str]]:
    """(line, code, "missed", "no-fix" or "") of every marker."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = MARKER.search(line)
        for each in re.findall(CODE, match[1]) if match else []:
            code, _, what = each.partition(" ")
            found.append((number, code, what))
    return found


def marked(text: str) -> tuple[Counter[tuple[int, str]], set[tuple[int, str]]]:
    """(expected findings by line and code, known missed ones)."""
    found = marks(text)
    expected = Counter((line, code) for line, code, what in found if what != "missed")
    return expected, {(line, code) for line, code, what in found if what == "missed"}


def found_in(text: str) -> list[Finding]:
    """What all rules find, and how each would be fixed: several tests look at it. Markers are not looked at."""
    return _found_in(unmarked(text))


@cache
def _found_in(text: str) -> list[Finding]:
    return lint(text, fixes=True)


def unmarked(text: str) -> str:
    """The text without its markers."""
    return MARKER.sub("", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_fixture(path: Path) -> None:
    """All that holds for each: one test, for a test takes longer than what most of these look at."""
    text = path.read_text(encoding="utf-8")
    findings_are_the_marked_ones(text)
    it_is_what_its_name_says(path, text)
    findings_are_one_clear_line_with_evidence_in_the_file(text)
    no_two_are_of_one_cause(text)
    what_has_a_fix_is_fixed_unless_marked(text)


def findings_are_the_marked_ones(text: str) -> None:
    expected, missed = marked(text)
    found = Counter((each.span.line, each.code) for each in found_in(text))
    assert found == expected, f"expected but not found: {expected - found}; found but not expected: {found - expected}"
    assert not missed & set(found)


def it_is_what_its_name_says(path: Path, text: str) -> None:
    code = path.parent.name.partition("_")[0]
    expected, missed = marked(text)
    assert ast.get_docstring(ast.parse(text)), "says in its docstring what it shows"
    if path.name.startswith("bad_"):
        assert any(marker == code for _, marker in [*expected, *missed])
    elif path.name.startswith("fixed_"):
        assert path.with_name(path.name.replace("fixed_", "bad_", 1)).exists()
    else:
        assert path.name.startswith("good_")
        assert not [marker for _, marker in expected if marker == code or not marker.startswith("TLK9")]


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_bad_fixture_is_fixed_to_its_twin(path: Path) -> None:
    bad = path.with_name(path.name.replace("fixed_", "bad_", 1)).read_text(encoding="utf-8")
    twin = unmarked(path.read_text(encoding="utf-8"))
    assert mended(unmarked(bad)).text == twin
    assert mended(twin).text == twin


def what_has_a_fix_is_fixed_unless_marked(text: str) -> None:
    left = sorted((each.message, each.code) for each in mended(unmarked(text)).left if each.fix is not FixLevel.HINT)
    unfixed = {(line, code) for line, code, what in marks(text) if what == "no-fix"}
    found = found_in(text)
    assert left == sorted((each.message, each.code) for each in found if (each.span.line, each.code) in unfixed)


@cache
def mended(text: str) -> Fixed:
    return fix(text, DEFAULT, unsafe=True, takes=lambda code: not code.startswith("TLK9"), first=_found_in(text))


def test_every_rule_has_bad_fixtures_and_at_least_as_many_good_ones() -> None:
    for rule in all_rules():
        folder = FIXTURES / f"{rule.code}_{rule.slug.replace('-', '_')}"
        bad, good = list(folder.glob("bad_*.py")), list(folder.glob("good_*.py"))
        assert len(bad) >= 3, folder
        assert len(good) >= len(bad), folder


def findings_are_one_clear_line_with_evidence_in_the_file(text: str) -> None:
    lines = text.splitlines()
    for each in found_in(text):
        assert "\n" not in each.message
        assert not each.message.endswith(".")
        assert len(each.message) <= 160, each.message
        for span in (each.span, *(note.span for note in each.notes)):
            assert 1 <= span.line <= span.end_line <= len(lines)
            assert 0 <= span.col <= len(lines[span.line - 1])
            assert span.col < span.end_col <= len(lines[span.end_line - 1]) or span.line < span.end_line


def no_two_are_of_one_cause(text: str) -> None:
    found = [each for each in found_in(text) if each.code < "TLK9"]
    told = gathered(found)
    assert [each for each, count in Counter(each.span for each in told).items() if count > 1] == []
    # Nothing is lost, and nothing stands under what is not told.
    assert sum(1 + len(each.members) for each in told) == len(found)
    leaders = {(each.code, each.span) for each in told}
    assert not leaders & {each.under for each in told}
    for each in told:
        assert each.severity is min((each, *each.members), key=worst).severity
        assert [(note.span, note.text[:6]) for note in each.notes[len(each.notes) - len(each.members) :]] == [
            (member.span, member.code) for member in each.members
        ]


def worst(finding: Finding) -> int:
    return list(Severity).index(finding.severity)
