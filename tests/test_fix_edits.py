"""Edits of a text: where they go, which fit together, and whether libcst finds the old text whole in the new one."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchleak.finding import Edit, Fix, FixLevel, Span
from flake8_torchleak.fixing.edits import Batch, Edited, Offsets, Replacement
from flake8_torchleak.fixing.verify import Witness, _parsed, only_grown
from flake8_torchleak.source import Source

TEXTS = st.text("ab\n\r\f🙂", max_size=12)


@given(TEXTS)
def test_offsets_and_lines_are_inverse(text: str) -> None:
    offsets, lines = Offsets(Source(text)), Source(text).lines
    for number, line in enumerate(lines, 1):
        for column in range(len(line)):
            at = offsets.at(number, column)
            assert text[at] == line[column]
            assert offsets.line(at) == number
    end = offsets.line(len(text))
    assert end == len(lines) + (not lines or lines[-1].endswith(("\n", "\r")))
    assert offsets.at(len(lines) + 1, 0) == len(text)


PLACES = st.lists(st.integers(0, 12), max_size=8, unique=True).map(sorted)


@given(st.text("ab\n", min_size=12, max_size=12), PLACES, st.lists(st.text("x\n", max_size=3), min_size=8, max_size=8))
def test_what_is_inserted_can_be_taken_out_again(text: str, places: list[int], new: list[str]) -> None:
    edits = [Replacement(at, at, each) for at, each in zip(places, new)]
    edited = Edited(text, edits)
    rest, position = edited.text, len(edited.text)
    for at, _, each in reversed(edits):
        position = max(edited.moved(at))
        assert rest[position - len(each) : position] == each
        rest = rest[: position - len(each)] + rest[position:]
    assert rest == text
    for at, letter in enumerate(text):
        moved = edited.moved(at)
        assert edited.text[max(moved)] == letter
        assert len(moved) == 2 if at in places and new[places.index(at)] else len(moved) == 1
    assert position >= 0


def test_a_replacement_moves_what_is_behind_it() -> None:
    edited = Edited("f(1) + g", [Replacement(2, 3, "zero"), Replacement(8, 8, "!")])
    assert edited.text == "f(zero) + g!"
    assert (edited.moved(1), edited.moved(3), edited.moved(7)) == ({1}, {6}, {10})
    assert edited.moved(8) == {11, 12}


def one(*edits: Edit, level: FixLevel = FixLevel.SAFE) -> Fix:
    return Fix(level, "a fix", edits)


def at(line: int, column: int, text: str, end: int | None = None) -> Edit:
    return Edit(Span(line, column, line, column if end is None else end), text)


LINE, NAME = at(1, 0, "import a\n"), at(2, 3, ".b()")


@pytest.mark.parametrize(
    ("first", "second", "fit"),
    [
        (one(NAME), one(at(2, 4, ".b()")), True),
        (one(NAME), one(NAME), True),
        (one(NAME), one(at(2, 3, ".c()")), False),
        (one(NAME), one(NAME, at(2, 4, ".b()")), False),
        (one(NAME, at(2, 4, ".b()")), one(NAME), True),
        (one(LINE, NAME), one(LINE, at(2, 4, ".b()")), True),
        (one(LINE, NAME), one(LINE, NAME), True),
        (one(LINE, NAME), one(at(1, 0, "import c\n"), at(2, 4, ".b()")), False),
        (one(at(2, 1, "x", 3)), one(at(2, 2, "y", 4)), False),
        (one(at(2, 1, "x", 3)), one(at(2, 2, "y")), False),
        (one(at(2, 1, "x", 3)), one(at(2, 3, "y")), True),
        (one(at(2, 1, "x", 3)), one(at(2, 3, "y", 4)), True),
    ],
)
def test_fixes_that_fit_together(first: Fix, second: Fix, fit: bool) -> None:
    batch = Batch(Offsets(Source("x = 1\ny = 23\n")))
    assert batch.add(first)
    alone = list(batch)
    assert batch.add(second) is fit
    if not fit:
        assert list(batch) == alone


def test_edits_at_one_place_come_in_their_order_and_lines_end_as_those_of_the_file() -> None:
    batch = Batch(Offsets(Source("x = 1\ny = 2\n")))
    assert batch.add(one(at(2, 1, ")"), at(2, 1, ".b()"), at(1, 0, "import a\r")))
    assert list(batch) == [Replacement(0, 0, "import a\r"), Replacement(7, 7, ").b()")]
    assert [each.is_line for each in batch] == [True, False]
    assert batch.add(one(at(2, 3, "0"), at(1, 0, "import a\r")))


WITNESSED = {
    "around": ("f(x)", "f(x.b())", True),
    "around all": ("x = a", "x = c(a)", True),
    "several around": ("f(x, y)", "f(x.b(), g(y))", True),
    "in parentheses": ("f((x))", "f((x.b()))", True),
    "around parentheses": ("f((x))", "f((x).b())", True),
    "around parentheses of lines": ("f((  # a\n  x))", "f((  # a\n  x.b()))", True),
    "other parentheses": ("f((  # a\n  x))", "f((x.b()  # a\n  ))", False),
    "an argument more": ("f(x)", "f(x, y)", False),
    "a tuple taken apart": ("yield x, y", "yield f(x, y)", False),
    "a tuple kept": ("yield x, y", "yield f((x, y))", True),
    "an operator that binds otherwise": ("x = a + b", "x = a + b * c", True),
    "one that takes the left side": ("x = a * b", "x = c + a * b", True),
    "one that splits": ("x = a * b", "x = a + c * b", False),
    "a comment swallowed": ("x = a  # b", "x = a.c(  # b\n)", False),
    "a comment in its place": ("f(  # b\n  a)", "f(  # b\n  a.c())", True),
    "a comment in a string": ("x = a  # b", "x = a + '''  # b\n'''", False),
    "a statement gone": ("x = a; y = b", "x = a; '''y = b'''", False),
    "a statement more": ("x = a", "x = a\ny = b", True),
    "another name": ("x = a", "x = b", False),
    "another name inside": ("x = f(a, b=c)", "x = f(a, d=c)", False),
    "nothing where something was": ("yield a", "yield", False),
    "an annotation gone": ("x: int = a", "x = a", False),
    "statements in another order": ("x = a; y = b", "y = b; x = a", False),
    "more than it may wrap": ("x = a", "x = " + "f(" * 9 + "a" + ")" * 9, False),
}


@pytest.mark.parametrize(("old", "new", "whole"), WITNESSED.values(), ids=WITNESSED)
def test_what_libcst_finds_whole(old: str, new: str, whole: bool) -> None:
    assert keeps_whole(old, new, "") is whole
    assert keeps_whole(old.replace("\n", "\n    "), new.replace("\n", "\n    "), "    ") is whole


def keeps_whole(old: str, new: str, indent: str) -> bool:
    """Whether libcst finds one statement whole in another."""
    before, after = _parsed(f"{indent}{old}\n"), _parsed(f"{indent}{new}\n")
    assert before is not None
    assert after is not None
    return only_grown(before, after)


def witness(text: str) -> Witness:
    return Witness(Source(text), ast.parse(text), Offsets(Source(text)))


MATCHED = "match x:\n    case 1:\n        y = b\n    case _:\n        pass\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x = 1\nif x:\n    y = a\nelse:\n    z = b\n", "b"),
        ("try:\n    y = a\nexcept E as e:\n    z = b\nelse:\n    pass\nfinally:\n    w = c", "c"),
        ("try:\n    y = a\nexcept E as e:\n    z = b\n", "b"),
        (MATCHED, "b"),
        ("if a:\n    pass\nelif b:\n    pass\n", "b"),
        ("class A:\n    @b(1)\n    def f(self): return c\n", "c"),
        ("class A:\n    @b(x)\n    def f(self): return c\n", "x"),
        ("@b\ndef f():\n\treturn [\n\t  c\n\t]\n", "c"),
        ("if x: y = a; z = b\n", "b"),
        ("x = a", "a"),
        ("x = 1\nx = a", "a"),
        ("x = '''\n  ''' + a\n", "a"),
    ],
)
def test_the_statement_around_an_edit_is_found(text: str, place: str) -> None:
    offset = text.rindex(place) + len(place)
    assert witness(text).keeps_whole([Replacement(offset, offset, ".b()")])
    assert not witness(text).keeps_whole([Replacement(offset, offset, "c, ")])
    assert not witness(text).keeps_whole([Replacement(offset - len(place), offset, "(")])


def test_lines_between_statements_change_nothing_and_lines_inside_do() -> None:
    text = "x = [\n  1,\n]\n@a\ndef f():\n    pass\n\n"
    assert witness(text).keeps_whole([Replacement(0, 0, "import b\n")])
    assert witness(text).keeps_whole([Replacement(13, 13, "@b\n")])
    assert witness(text).keeps_whole([Replacement(len(text), len(text), "b()\n")])
    assert witness(text).keeps_whole([Replacement(6, 6, "  0,\n")])
    assert not witness(text).keeps_whole([Replacement(6, 6, "]; [\n")])


def test_constants_alone_are_taken_away() -> None:
    text = "f(1, a, 'b', -1) + g"
    for taken, may in {"1": True, "a": False, "'b'": True, "-1": False, "1, a": False, " + ": False}.items():
        start = text.index(taken)
        assert witness(text).keeps_whole([Replacement(start, start + len(taken), "0")]) is may


def test_a_place_outside_of_all_statements_cannot_be_judged() -> None:
    assert not witness("x = 1\n# a\ny = 2\n").keeps_whole([Replacement(8, 8, " b")])
