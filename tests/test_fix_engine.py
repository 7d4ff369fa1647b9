"""How fixes are applied: in passes, without the bad ones, and not on lines with `# noqa`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Edit, Fix, FixLevel, Span
from flake8_torchleak.model.stores import Store
from flake8_torchleak.rule import Report, all_rules
from tests.conftest import LEAK
from tests.fixer import fixed, left, mended, reasons
from tests.model import IMPORTS, step

Wrong = Callable[[ast.expr, Builder], tuple[Edit, ...]]
"""Edits of an expression that should not be made."""

BAD = "its result would not be clean, or libcst cannot tell"


def test_what_is_too_deep_for_libcst_is_left() -> None:
    line = "kept.append(loss); y = a" + ".b()" * 200
    assert reasons(step(line, after="return kept")) == [BAD]
    assert ".detach()" in fixed(step(line[:400], after="return kept"))


def test_what_python_cannot_compare_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> bool:
        raise RecursionError

    monkeypatch.setattr("flake8_torchleak.fixing.verify.only_grown", give_up)
    assert reasons(step("kept.append(loss)", after="return kept")) == [BAD]


@pytest.mark.parametrize("before", ["\f    ", "\n\f    ", "  \f    ", "\f    x = 1\n\f    ", "    x = 1; \\\n"])
def test_form_feeds_and_backslashes_before_a_statement(before: str) -> None:
    text = "import torch\nkept = []\nfor x in loader:\n    loss = f(x)\n    loss.backward()\n" + before
    assert mended(f"{text}kept.append(loss)\n").text == f"{text}kept.append(loss.detach())\n"


def test_a_form_feed_before_the_first_column() -> None:
    text = IMPORTS + "import cv2\n\fdef init(number): cv2.setNumThreads(1)\n"
    text += "DataLoader(data, num_workers=2, worker_init_fn=init)\n"
    assert mended(text, unsafe=True).text == text.replace("(1)", "(0)")


@pytest.fixture
def sums() -> ModuleType:
    """The module of the rule of sums, whose fix is to be replaced."""
    return sys.modules[next(each for each in all_rules() if each.code == "TLK401").check.__module__]


def bad(edit: Wrong) -> Callable[[Report, Builder], Iterator[Fix]]:
    """A fixer that is wrong where a `bad` stands."""

    def give(report: Report, build: Builder) -> Iterator[Fix]:
        assert isinstance(report.target, Store)
        value = report.target.value
        if "bad" in ast.unparse(value):
            yield Fix(FixLevel.SAFE, "a bad fix", edit(value, build))
        else:
            yield Fix(FixLevel.SAFE, "a good fix", build.method(value, "detach"))

    return give


def insert(before: str, after: str) -> Wrong:
    """Text around an expression."""
    return lambda value, build: build.wrapped(value, before, after)


WRONG: dict[str, Wrong] = {
    "does not parse": insert("(", ""),
    "has NUL bytes": insert("'\0' and ", ""),
    "changes nothing": insert("", ""),
    "leaves the finding": insert("(", ")"),
    "adds a finding": lambda value, build: (
        *build.method(value, "detach"),
        Edit(Span(value.lineno, 8, value.lineno, 8), "kept.append(loss); "),
    ),
    "swallows a comment": lambda value, build: (
        *build.method(value, "detach"),
        Edit(Span(value.end_lineno or 0, 41, value.end_lineno or 0, 41), "'"),
    ),
    "breaks a string": insert("'''", "'''.x"),
    "drops the rest": lambda value, build: (
        *build.method(value, "detach"),
        Edit(Span(value.lineno, 8, value.lineno, 14), ""),
    ),
    "replaces what it should keep": lambda value, build: build.replaced(value, "0"),
    "replaces with another call": lambda value, build: (
        Edit(Span(value.lineno, value.col_offset, value.lineno, value.col_offset + 3), "0 * bed"),
    ),
    "splits a name": lambda value, build: (Edit(Span(value.lineno, 19, value.lineno, 19), " * 0 + "),),
    "touches itself": lambda value, build: (
        *build.replaced(value, "0"),
        Edit(Span(value.lineno, value.col_offset + 1, value.lineno, value.col_offset + 2), "1"),
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("order", [1, -1])
def test_a_bad_fix_is_dropped_and_the_others_are_applied(
    wrong: Wrong, order: int, sums: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "fix", bad(wrong))
    lines = ["total += loss", "total += bad * loss      # a '", "total += loss * 2", "total += loss * 3"][::order]
    done = mended(IMPORTS + step("\n".join(lines), after="return total"), codes=("TLK401", "TLK402"))
    good = [line if "bad" in line else released(line) for line in lines]
    assert done.text == IMPORTS + step("\n".join(good), after="return total")
    assert [title.title for _, title in done.fixed] == ["a good fix"] * 3
    assert [each.unfixed for each in done.left] == [BAD]
    assert done.left[0].fixes == ()
    assert done.found == 4


def released(line: str) -> str:
    value = line.removeprefix("total += ")
    return f"total += {value}.detach()" if value.isidentifier() else f"total += ({value}).detach()"


def test_two_fixes_that_do_not_hold_together_come_one_after_the_other(
    sums: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give(report: Report, build: Builder) -> Iterator[Fix]:
        assert isinstance(report.target, Store)
        value = report.target.value
        # Both want the same name first: the second is asked again when the first is there.
        new = "import a\n" if "import a" not in build.module.source.text else ""
        head = (Edit(Span(1, 0, 1, 0), new + "# \n" * value.lineno),)
        yield Fix(FixLevel.SAFE, "a fix", (*head, *build.method(value, "detach")))

    monkeypatch.setattr(sums, "fix", give)
    done = mended(IMPORTS + step("total += loss\ntotal += loss * 2", after="return total"))
    assert done.text.count("import a\n") == 1
    assert done.text.count(".detach()") == 2
    assert done.left == ()


def test_no_more_than_ten_passes(sums: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(report: Report, build: Builder) -> Iterator[Fix]:
        assert isinstance(report.target, Store)
        edits = build.method(report.target.value, "detach")
        yield Fix(FixLevel.SAFE, "a fix", (Edit(Span(1, 0, 1, 0), f"# {report.node.lineno}\n"), *edits))  # type: ignore[attr-defined]

    monkeypatch.setattr(sums, "fix", give)
    statements = "\n".join(f"total += loss * {number}" for number in range(12))
    done = mended(IMPORTS + step(statements, after="return total"))
    assert (len(done.fixed), len(done.left)) == (10, 2)
    assert {each.unfixed for each in done.left} == {"10 passes were made over this file: run it again"}
    assert done.mended == 10


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: TLK401", "# noqa: TLK4,E501", "# NOQA:TLK401 because"])
def test_a_suppressed_finding_is_not_fixed(comment: str) -> None:
    text = IMPORTS + step(f"total += loss  {comment}\nkept.append(loss)", after="return total, kept")
    done = mended(text)
    assert done.text == text.replace("(loss)\n", "(loss.detach())\n")
    assert (done.found, done.suppressed, done.left) == (1, 1, ())


def test_a_whole_file_without_a_look() -> None:
    text = "# flake8: noqa\n" + LEAK
    assert (mended(text).text, mended(text).suppressed) == (text, 1)


def test_a_fix_that_would_touch_another_line_with_noqa_is_left() -> None:
    noted, plain = (step(f"kept.append(\n  loss{comment}\n)", after="return kept") for comment in ("  # noqa", ""))
    after = plain.replace("loss\n  ", "loss.detach()\n  ").replace("  loss\n", "  loss.detach()\n")
    for text, expected, line in (
        (noted + plain, noted + after, 11),
        (plain + noted, after + noted, 21),
    ):
        done = mended(IMPORTS + text)
        assert done.text == IMPORTS + expected
        assert [each.unfixed for each in done.left] == [f"line {line} has a `# noqa`"]


def test_lines_may_be_put_above_a_line_with_noqa() -> None:
    text = LEAK.replace("import torch\n", "import torch  # noqa\n") + "def f(): pass  # noqa: TLK401\n"
    assert mended(text).text == text.replace("+= loss", "+= loss.detach()")


def test_codes_that_are_not_selected_are_neither_fixed_nor_counted() -> None:
    text = IMPORTS + step("total += loss\nkept.append(loss)  # noqa", after="return total, kept")
    assert mended(text, codes="TLK402").text == text
    assert (mended(text, codes="TLK402").found, mended(text, codes="TLK402").suppressed) == (0, 1)
    assert mended(text, codes="TLK401").suppressed == 0
    assert left("x = 1\n") == []
