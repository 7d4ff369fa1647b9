"""Reading source, and columns: what `ast` counts in bytes, people count in characters."""

from __future__ import annotations

import ast
import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchleak.source import Source, SourceError, decode, must_parse, parse

# All that may stand in a string literal of one line.
INSIDE = st.text(st.characters(exclude_characters="'\\\r\n\0", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(INSIDE, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]))
def test_columns_are_code_points(literals: list[str], end: str) -> None:
    text = "".join(f"'{literal}'; name = 1{end}" for literal in literals)
    source = Source(text)
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    assert len(names) == len(literals)
    for node in names:
        assert node.end_col_offset is not None
        line = source.lines[node.lineno - 1]
        span = slice(source.column(node.lineno, node.col_offset), source.column(node.lineno, node.end_col_offset))
        assert line[span] == "name"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_lines_are_the_text(text: str) -> None:
    assert "".join(Source(text).lines) == text


def test_form_feeds_end_no_line() -> None:
    assert Source("a\x0cb\x0bc\u2028d\ne").lines == ["a\x0cb\x0bc\u2028d\n", "e"]


def test_a_line_past_the_end_keeps_its_column() -> None:
    assert Source("é\n").column(7, 3) == 3


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=30), st.booleans())
def test_utf8_is_decoded_with_and_without_bom(text: str, bom: bool) -> None:
    if "coding" not in text:
        assert decode(codecs.BOM_UTF8 * bom + text.encode()) == text


def test_coding_lines_count() -> None:
    assert (
        decode("# -*- coding: latin-1 -*-\nx = 'é'\r\n".encode("latin-1")) == "# -*- coding: latin-1 -*-\nx = 'é'\r\n"
    )


@pytest.mark.parametrize(
    "raw",
    [b"x = '\xe9'\n", b"# coding: nonsense\n", b"\xff\xfex\0", codecs.BOM_UTF8 + b"# coding: latin-1\n"],
)
def test_what_cannot_be_decoded_is_one_line(raw: bytes) -> None:
    with pytest.raises(SourceError, match=r"^cannot decode: [^\n]+$"):
        decode(raw)


@pytest.mark.parametrize(
    "text", ["x = (", "x = '\0'", "(" * 400 + ")" * 400, "+".join("a" * 20_000), "if x:\n y\n  z\n"]
)
def test_what_does_not_parse_is_said_without_a_tree(text: str) -> None:
    with pytest.raises(SyntaxError) as parsed:
        parse(text)
    with pytest.raises(SyntaxError) as told:
        must_parse(text)
    assert str(told.value) == str(parsed.value)


@pytest.mark.parametrize(
    "text", ["", "x = '\\d'", "def f(a, a): ...", "return 1", "nonlocal x", "if a: from b import *"]
)
def test_what_parses_may_be_no_program(text: str) -> None:
    parse(text)
    must_parse(text)
