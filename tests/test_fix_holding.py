"""Which of many fixes hold: how the bad ones are told from the others, and how often a text is linted for it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator

import pytest

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Edit, Finding, Fix, FixLevel, Span
from flake8_torchleak.fixing import fix as engine
from flake8_torchleak.fixing import linted
from flake8_torchleak.fixing.fix import Fixed
from flake8_torchleak.model.stores import Store
from flake8_torchleak.rule import Report, all_rules
from tests.fixer import mended
from tests.model import IMPORTS, step

CODES = ("TLK401", "TLK402")
TROUBLE = "        kept.append(loss)\n"
"""A line that is a leak of its own (TLK402)."""


def function(name: str, *sums: str) -> str:
    """A training function that adds these values to a sum."""
    lines = "\n".join(f"total += {each}" for each in sums)
    return step(f"{lines}\nprint({name!r})", after="return total, kept").replace("train", name)


def give(report: Report, build: Builder) -> Iterator[Fix]:
    """The fix of a sum, and what a comment behind it says: trouble in the function of a name, text around a mark."""
    assert isinstance(report.target, Store)
    value = report.target.value
    lines = build.module.source.lines
    edits = list(build.method(value, "detach"))
    _, _, said = lines[value.lineno - 1].partition("# ")
    what, _, rest = said.strip().partition(" ")
    if what == "broken":
        edits.append(Edit(Span(1, 0, 1, 0), "(((\n"))
    if what == "trouble":
        line = next(n for n, text in enumerate(lines, 1) if text.strip() == f"print({rest!r})")
        edits.append(Edit(Span(line, 0, line, 0), TROUBLE))
    if what in ("before", "behind"):
        name, _, text = rest.partition(" ")
        mark = f"MARK_{name}"
        line = next(n for n, each in enumerate(lines, 1) if mark in each)
        column = lines[line - 1].index(mark) + len(mark) * (what == "behind")
        edits.append(Edit(Span(line, column, line, column), text.replace("_", " ")))
    yield Fix(FixLevel.SAFE, "a fix", tuple(edits))


@pytest.fixture(autouse=True)
def fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of sums, with that fix."""
    rule = next(each for each in all_rules() if each.code == "TLK401")
    monkeypatch.setattr(sys.modules[rule.check.__module__], "fix", give)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the fixer lints, in order."""
    seen: list[str] = []
    lint: Callable[..., list[Finding]] = vars(linted)["lint"]

    def counted(text: str, *more: object, **named: object) -> list[Finding]:
        seen.append(text)
        return lint(text, *more, **named)

    monkeypatch.setattr(linted, "lint", counted)
    return seen


def result(*functions: str) -> tuple[Fixed, list[str]]:
    """A file after fixing, and the lines of it where something is left, without what stands before a comment."""
    done = mended(IMPORTS + "".join(functions), codes=CODES)
    assert ast.parse(done.text)
    assert TROUBLE not in done.text
    lines = done.text.splitlines()
    assert all(each.unfixed == engine._BAD for each in done.left)
    return done, [lines[each.span.line - 1].strip() for each in done.left]


def test_all_that_hold_are_applied_at_once(looks: list[str]) -> None:
    done, left = result(*(function(f"f{n}", "loss", "loss * 2") for n in range(20)))
    assert (left, len(done.fixed), len(looks)) == ([], 40, 2)


def test_bad_ones_in_many_functions_are_told_apart_at_the_same_time(looks: list[str]) -> None:
    functions = [
        function(f"f{n}", "loss", "loss * 2", *[f"loss * 3  # trouble f{n}"] * (n % 3 == 0), "loss * 4")
        for n in range(30)
    ]
    done, left = result(*functions)
    assert left == [f"total += loss * 3  # trouble f{n}" for n in range(0, 30, 3)]
    assert len(done.fixed) == 90
    assert len(looks) < 12, "each of the ten bad ones looked for alone would take 40"


def test_one_bad_fix_in_a_long_function(looks: list[str]) -> None:
    sums = [f"loss * {n}" + "  # trouble f" * (n == 37) for n in range(64)]
    done, left = result(function("f", *sums))
    assert left == ["total += loss * 37  # trouble f"]
    assert len(done.fixed) == 63
    assert len(looks) < 20


def test_trouble_in_a_function_where_nothing_is_fixed() -> None:
    done, left = result(
        function("a", "loss"), function("b", "loss  # trouble c"), function("c"), function("d", "loss * 2")
    )
    assert left == ["total += loss  # trouble c"]
    assert len(done.fixed) == 2


def test_trouble_in_a_function_whose_own_fix_is_good() -> None:
    done, left = result(function("a", "loss"), function("b", "loss  # trouble c"), function("c", "loss * 2"))
    assert left == ["total += loss  # trouble c"]
    assert len(done.fixed) == 2


def test_one_fix_spoils_two_functions() -> None:
    done, left = result(function("a", "loss  # trouble a", "loss * 2  # trouble b"), function("b", "loss * 3"))
    assert left == ["total += loss  # trouble a", "total += loss * 2  # trouble b"]
    assert len(done.fixed) == 1


def test_fixes_that_reach_into_other_functions_are_told_apart_with_theirs(looks: list[str]) -> None:
    done, left = result(
        function("a", "loss  # before b 1_*_"),
        function("b", "loss", "loss * MARK_b * 3  # trouble a"),
        function("c", "loss  # before d 1_*_"),
        function("d", "loss * MARK_d  # before f 2_*_"),
        function("e", "loss"),
        function("f", "loss * MARK_f  # behind b _*_2"),
    )
    assert left == ["total += loss * 1 * MARK_b * 2 * 3  # trouble a"]
    assert len(done.fixed) == 6
    assert len(looks) < 12


def test_two_that_spoil_one_statement_only_together(looks: list[str]) -> None:
    done, left = result(function("a", "loss * max(MARK_a)  # behind a _for_z_in_y", "loss  # before a 1,_"))
    assert left == ["total += loss  # before a 1,_"]
    assert "total += (loss * max(MARK_a for z in y)).detach()" in done.text
    assert len(looks) == 2, "libcst tells without linting"


def test_two_of_one_statement_one_of_which_spoils_it(looks: list[str]) -> None:
    done, left = result(function("a", "loss * MARK_a  # behind a )", "loss  # before a 2_*_"))
    assert left == ["total += loss * 2 * MARK_a  # behind a )"]
    assert len(done.fixed) == 1
    assert len(looks) == 2


def test_two_that_hold_only_together_where_a_third_does_not() -> None:
    done, left = result(function("a", "MARK_a * loss  # before a (", "loss  # trouble a", "loss * 2  # behind a )"))
    assert len(left) == 3, "too little for a search of all that could be left out"
    assert done.fixed == ()


def test_a_line_that_does_not_parse(looks: list[str]) -> None:
    done, left = result(function("a", "loss"), function("b", "loss", "loss * 2  # broken"), function("c", "loss"))
    assert left == ["total += loss * 2  # broken"]
    assert len(done.fixed) == 3
    assert len(looks) < 12


def test_one_alone_in_its_function_is_bad() -> None:
    done, left = result(function("a", "loss  # trouble a"), function("b", "loss"), function("c", "loss"))
    assert left == ["total += loss  # trouble a"]
    assert len(done.fixed) == 2


@pytest.mark.parametrize(
    ("added", "reasons"),
    [(["loss  # trouble a"], ["BAD", "UNTRIED"]), (["loss  # trouble a", "loss"], ["UNTRIED"] * 3)],
)
def test_too_many_to_tell(added: list[str], reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_MOST_LOOKS", 1)
    done = mended(IMPORTS + function("a", *added) + function("b", "loss"), codes=CODES)
    assert [each.unfixed for each in done.left] == [getattr(engine, f"_{each}") for each in reasons]
    assert (done.fixed, done.mended) == ((), 0)
