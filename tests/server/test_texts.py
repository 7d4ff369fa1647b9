"""Positions, changes and moves: what holds of any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from flake8_torchleak.finding import Span
from flake8_torchleak.server import moving
from flake8_torchleak.server.moving import Moved, edits
from flake8_torchleak.server.positions import Lines, applied, column, units
from flake8_torchleak.source import Source

TEXT = st.text(alphabet="ab\n\r\f𝐱é ", max_size=40)
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@given(TEXT, st.sampled_from(sorted(CODECS)))
def test_units_are_those_of_the_encoding(text: str, encoding: str) -> None:
    codec, size = CODECS[encoding]
    assert units(text, encoding) == len(text.encode(codec)) // size


@given(TEXT, st.sampled_from(sorted(CODECS)), st.data())
def test_a_place_there_and_back(text: str, encoding: str, data: st.DataObject) -> None:
    lines = Lines.of(text, encoding)
    line = data.draw(st.integers(1, len(lines.lines) + 1))
    body = lines.lines[line - 1].rstrip("\r\n") if line <= len(lines.lines) else ""
    col = data.draw(st.integers(0, len(body)))
    assert lines.place(lines.position(line, col)) == (line, col)


def test_inside_of_a_character_is_its_begin() -> None:
    assert column("𝐱y", 1, "utf-16") == 0
    assert column("𝐱y", 9, "utf-16") == 2


@given(TEXT, TEXT, st.data())
def test_a_change_is_what_the_editor_did(text: str, new: str, data: st.DataObject) -> None:
    lines = Source(text).lines
    places = [(at, col) for at, line in enumerate(lines) for col in range(len(line.rstrip("\r\n")) + 1)] or [(0, 0)]
    start, end = sorted((data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))))
    offsets = [sum(map(len, lines[:line])) + col for line, col in (start, end)]
    lined = Lines.of(text, "utf-16")
    where = types.Range(*(lined.position(line + 1, col) for line, col in (start, end)))
    change = types.TextDocumentContentChangePartial(where, new)
    assert applied(text, [change], "utf-16") == text[: offsets[0]] + new + text[offsets[1] :]
    assert applied(text, [types.TextDocumentContentChangeWholeDocument(new)], "utf-16") == new


@given(TEXT, TEXT)
def test_edits_make_the_one_of_the_other(old: str, new: str) -> None:
    found = list(edits(old, new))
    lines = Source(old).lines
    starts = [sum(map(len, lines[:at])) for at in range(len(lines) + 1)]
    text = old
    for each in reversed(found):
        start = starts[each.span.line - 1] + each.span.col
        end = starts[each.span.end_line - 1] + each.span.end_col
        text = text[:start] + each.text + text[end:]
    assert text == new
    assert bool(found) is (old != new)


@given(TEXT)
def test_what_has_not_changed_has_not_moved(text: str) -> None:
    count = len(Source(text).lines)
    span = Span(1, 0, max(count, 1), 0)
    assert Moved(text, text).span(span) == span


@pytest.mark.parametrize(
    ("old", "new", "span", "now"),
    [
        ("a\nb\nc\n", "a\nx\nb\nc\n", Span(2, 0, 3, 1), Span(3, 0, 4, 1)),
        ("a\nb\nc\n", "a\nc\n", Span(2, 0, 2, 1), None),
        ("a\nb\nc\n", "a\nc\n", Span(1, 0, 3, 1), Span(1, 0, 2, 1)),
        ("x = loss\n", "xy = loss\n", Span(1, 4, 1, 8), Span(1, 5, 1, 9)),
        ("x = loss\n", "x = \n", Span(1, 4, 1, 8), Span(1, 4, 1, 4)),
        ("x = loss\n", "x = lss\n", Span(1, 4, 1, 8), Span(1, 4, 1, 7)),
        ("a = b\n", "c.d = b\n", Span(1, 0, 1, 1), Span(1, 0, 1, 3)),
    ],
)
def test_where_it_stands_now(old: str, new: str, span: Span, now: Span | None) -> None:
    assert Moved(old, new).span(span) == now


@pytest.mark.parametrize(
    ("old", "new", "span", "text"),
    [
        ("ab\r\n", "ab\rc", Span(1, 2, 2, 0), "\rc"),
        ("a\nb", "a\r\nb", Span(1, 1, 2, 0), "\r\n"),
    ],
)
def test_no_line_end_is_cut_in_two(old: str, new: str, span: Span, text: str) -> None:
    assert [(each.span, each.text) for each in edits(old, new)] == [(span, text)]


def test_of_too_much_nothing_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_MOST_COMPARED", 1)
    (edit,) = edits("a\nb\nc\nd\n", "a\nx\nc\ny\nd\n")
    assert edit.text == "x\nc\ny"
