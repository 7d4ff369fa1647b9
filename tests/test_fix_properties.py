"""Laws of fixing, over all bad fixtures and in any disguise: other line ends, tabs, comments, encodings, ..."""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flake8_torchleak.fixing.edits import Offsets
from flake8_torchleak.fixing.fix import Fixed
from flake8_torchleak.lint import lint
from flake8_torchleak.shells.selection import Selection
from flake8_torchleak.source import Source, decode, encode
from tests.fixer import mended
from tests.test_fixtures import FILES, unmarked

BAD = {
    f"{path.parent.name}/{path.stem}": unmarked(path.read_text(encoding="utf-8"))
    for path in FILES
    if path.name.startswith("bad_")
}
MARKS = [[], [pytest.mark.long], [pytest.mark.long], [pytest.mark.long, pytest.mark.watched], *[[pytest.mark.long]] * 2]
SOME = [pytest.param(name, marks=MARKS[number % len(MARKS)]) for number, name in enumerate(BAD)]
"""Each, but in short runs every sixth, and every third where coverage is watched."""


@cache
def done(name: str, unsafe: bool) -> Fixed:
    """A fixture, fixed."""
    return mended(BAD[name], unsafe, "TLK")


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
@pytest.mark.parametrize("name", SOME)
def test_laws(name: str, unsafe: bool) -> None:
    before, after = BAD[name], done(name, unsafe)
    compile(after.text, name, "exec")
    again = mended(after.text, unsafe, "TLK")
    assert (again.text, again.fixed) == (after.text, ())
    # What is left is what is found afterwards, and was found before.
    assert again.found == len(after.left) <= after.found
    assert [(each.code, each.message, each.span) for each in again.left] == [
        (each.code, each.message, each.span) for each in after.left
    ]
    assert not shown(after.text) - shown(before)
    assert (before == after.text) is (not after.fixed)
    for finding, fix in after.fixed:
        assert unsafe or fix.level == "safe"
        assert finding.fixes
        assert "\n" not in fix.title
    for finding in after.left:
        levels = {each.level for each in finding.fixes}
        assert not levels or (not unsafe and levels == {"unsafe"})
        assert finding.unfixed or levels or finding.fix == "hint"


@cache
def shown(text: str) -> Counter[tuple[str, str]]:
    """The findings of the rules that are on."""
    return Counter((each.code, each.message) for each in lint(text) if Selection().takes(each.code))


@pytest.mark.parametrize("name", SOME)
def test_taking_the_edits_out_gives_the_text_back(name: str) -> None:
    """Each fix alone: every byte outside of its edits stays, and what is taken away is a constant."""
    text = BAD[name]
    offsets = Offsets(Source(text))
    for finding in done(name, False).fixed:
        for edit in finding[1].edits:
            start, end = offsets.ends(edit)
            assert start == end or CONSTANT.fullmatch(text[start:end])
    # ... and after all of them, line by line.
    rest = iter(done(name, True).text.splitlines())
    for line in text.splitlines():
        assert any(is_in(line, other) for other in rest), line


CONSTANT = re.compile(r"\b(?:\d+|True|False|None)\b")


def is_in(line: str, other: str) -> bool:
    """Whether the letters of a line are found in another, in their order; constants may have changed."""
    letters = iter(CONSTANT.sub("0", other))
    return all(letter in letters for letter in CONSTANT.sub("0", line))


# -- disguises: each turns a text into one that means the same ------------------------------------------------------


def ends(end: str) -> Callable[[str], str]:
    return lambda text: text.replace("\n", end)


def tabs(text: str) -> str:
    return re.sub(r"^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.MULTILINE)


def open_end(text: str) -> str:
    return text.rstrip("\n")


def narrow(text: str) -> str:
    return re.sub(r"^(?: {4})+", lambda match: " " * (len(match[0]) // 4), text, flags=re.MULTILINE)


SAME = {"CRLF": ends("\r\n"), "CR": ends("\r"), "tabs": tabs, "an open end": open_end, "narrow": narrow}
"""Disguises that a fix goes along with: the disguised text, fixed, is the fixed text in disguise."""


def trailing(text: str) -> str:
    return at_line_ends(text, "  ")


def comments(text: str) -> str:
    return at_line_ends(text, "  # 日本🙂 loss")


def at_line_ends(text: str, more: str) -> str:
    """A text with something added where lines of statements end."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE and token.string:
            line = lines[token.start[0] - 1]
            lines[token.start[0] - 1] = line[: token.start[1]] + more + line[token.start[1] :]
    return "".join(lines)


def feeds(text: str) -> str:
    return re.sub(r"\n\n\n(?=\w|@)", "\n\f\n\n", text)


MORE = {"trailing blanks": (trailing, "  "), "comments": (comments, "  # 日本🙂 loss"), "form feeds": (feeds, "\f")}
"""Disguises that are gone when a piece of text is deleted."""

CHOSEN = st.sampled_from(sorted(BAD))


@pytest.mark.long
@pytest.mark.watched
@settings(max_examples=100)
@example("TLK502_uncleared_step_outputs/bad_training_losses", False, True, "", "")
@given(CHOSEN, st.booleans(), st.booleans(), *map(st.sampled_from, (["", "tabs", "narrow"], ["", "CRLF", "CR"])))
def test_fixing_and_disguising_commute(name: str, unsafe: bool, is_open: bool, indents: str, line_ends: str) -> None:
    text, expected = BAD[name], done(name, unsafe).text
    for each in filter(None, ("an open end" * is_open, indents, line_ends)):
        text, expected = SAME[each](text), SAME[each](expected)
    assert mended(text, unsafe, "TLK").text == expected


BETWEEN = (CHOSEN, st.booleans(), st.sampled_from(sorted(MORE)), st.sampled_from(["", *sorted(SAME)]))


@settings(max_examples=20)
@given(*BETWEEN)
def test_what_stands_between_is_kept(name: str, unsafe: bool, disguise: str, other: str) -> None:
    what_stands_between_is_kept(name, unsafe, disguise, other)


@pytest.mark.long
@pytest.mark.watched
@settings(max_examples=80)
@given(*BETWEEN)
def test_what_stands_between_is_kept_in_many(name: str, unsafe: bool, disguise: str, other: str) -> None:
    what_stands_between_is_kept(name, unsafe, disguise, other)


def what_stands_between_is_kept(name: str, unsafe: bool, disguise: str, other: str) -> None:
    dress, piece = MORE[disguise]
    text, expected = dress(BAD[name]), done(name, unsafe).text
    if other:
        text, expected = SAME[other](text), SAME[other](expected)
    after = mended(text, unsafe, "TLK").text
    assert after.count(piece) >= text.count(piece)
    assert after.replace(piece, "") == expected.replace(piece, "")


ENCODINGS = {
    "utf-8": "é日本🙂",
    "utf-8-sig": "é日本🙂",
    "latin-1": "é",
    "cp1252": "é€",
    "euc-jp": "日本ソ",
    "shift_jis": "日本ソ表",
}


@settings(max_examples=15)
@given(CHOSEN, st.booleans(), st.sampled_from(sorted(ENCODINGS)))
def test_encodings_stay(name: str, unsafe: bool, encoding: str) -> None:
    encodings_stay(name, unsafe, encoding)


@pytest.mark.long
@pytest.mark.watched
@settings(max_examples=60)
@given(CHOSEN, st.booleans(), st.sampled_from(sorted(ENCODINGS)))
def test_encodings_of_many_stay(name: str, unsafe: bool, encoding: str) -> None:
    encodings_stay(name, unsafe, encoding)


def encodings_stay(name: str, unsafe: bool, encoding: str) -> None:
    strange = f"# coding: {encoding.removesuffix('-sig')}\n# {ENCODINGS[encoding]}\n"

    def raw(text: str) -> bytes:
        return (strange + text).encode(encoding)

    plain = BAD[name].encode("ascii", "replace").decode()
    before = raw(plain)
    after = encode(mended(decode(before), unsafe, "TLK").text, before)
    head = len(strange.encode(encoding))
    assert after[:head] == before[:head]
    assert after[head:].decode(encoding) == mended(plain, unsafe, "TLK").text


@pytest.mark.long
@pytest.mark.watched
@settings(max_examples=20)
@given(st.lists(CHOSEN, min_size=2, max_size=4, unique=True), st.booleans())
def test_several_in_one_file(names: list[str], unsafe: bool) -> None:
    """Files behind each other, each in a function of its own: what is fixed in one is fixed beside others."""
    text = "".join(BAD[name] for name in names)
    try:
        compile(text, "joined", "exec")
    except SyntaxError:
        return  # from __future__ in the middle
    after = mended(text, unsafe, "TLK")
    compile(after.text, "joined", "exec")
    again = mended(after.text, unsafe, "TLK")
    assert again.text == after.text
