"""A text that is edited: what is parsed of it piece by piece is what the whole text is."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flake8_torchleak.lint import lint
from flake8_torchleak.model import reparsing
from flake8_torchleak.model.reparsing import Reparser
from flake8_torchleak.source import parse

ROOT = Path(__file__).parents[1]
FIXTURES = sorted(ROOT.glob("fixtures/**/bad_*.py"))
PIECES = (
    *("def one():\n    return 1\n", "class Two(Base):\n    def get(self):\n        return [\n1,\n]\n", "x = 3\n"),
    *(
        "import os\n",
        "@one\n",
        "else:\n    x = 4\n",
        "if x:\n",
        "    y = 5\n",
        "\n",
        "# why\n",
        "x = (\n",
        ")\n",
        "x = \\\n",
    ),
    *(
        '"""\n',
        "'''\n",
        "def f(): '''a\ndef g(): b'''\n",
        "try:\n    x = 6\n",
        "finally:\n    x = 7\n",
        "\x0c",
        "\r",
        "\r\n",
    ),
    *("from __future__ import barry_as_FLUFL\n", "x <> y\n", "\ufeff", "\ufeffx = 1\n", "\0", "x = 8 \\\n", "async "),
)


def dumped(text: str, parsing: object) -> str:
    """What a text is parsed to, places too; or that it is not."""
    try:
        return ast.dump(parsing(text), include_attributes=True)  # type: ignore[operator]
    except SyntaxError:
        return "does not parse"


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6), min_size=1, max_size=4))
def test_each_version_is_what_it_is_alone(versions: list[list[str]]) -> None:
    reparser = Reparser()
    for version in versions:
        text = "".join(version)
        assert dumped(text, reparser) == dumped(text, parse)


@given(st.data())
def test_edits_of_letters_and_lines(data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(PIECES[:4]), min_size=2, max_size=6)))
    reparser = Reparser()
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 3)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(("", "\n", "x", "(", ")", '"', ":", "  ", "\\", *PIECES)))
            + text[end:]
        )
        assert dumped(text, reparser) == dumped(text, parse)


REST = "".join(f"def rest{number}():\n    return {number}\n" for number in range(20))
"""So that what is above it is a small part of a text."""
TYPED = (
    *("def f():\n    x = ", "def f():\n    x = (\n", "def f():\n    x = (1,\n2)\n", "def f():\n    x = (1,\na)\n"),
    *("x = (\n",),
    *("x = (a\n@b\n", "x = (a\n@'''\n", "x = '''\n", 'x = f"""{\n', 'def f():\n    x = """\n"""\n    y = (\n'),
    *("if x:\n",),
    *(
        "try:\n    x\n",
        "x = '\n",
        "x = \\\n",
        "\\\n    return 1\n",
        "else:\n    x\n",
        "  y\n",
        "@b\n",
        "x = \"'''\"; (\n",
        "x = )\n",
    ),
    *("def g(): pass\n'''\n)\n",),
    *("'''\n", '"""\n', ")\n", "a)\n", "x = 1\n", "def h():\n    '''h'''\n    y =\n", "# '''\n"),
    *("def j():\n    '''\n    x\n  y = (\n", "class K:\n", "async\n", "async def m(\n", "lambda: (\n"),
)


@given(st.lists(st.sampled_from(TYPED), max_size=5), st.sampled_from((REST, "", "@b\n" + REST, REST + "'''\n")))
@settings(max_examples=400)
def test_a_text_is_broken_where_it_is_as_a_whole(typed: list[str], rest: str) -> None:
    text = REST + "".join(typed) + rest
    reparser = Reparser()
    for version in (REST + rest, text):
        assert dumped(version, reparser) == dumped(version, parse)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("def f():\n    x =\n", True),
        ("def f():\n    '''f'''\n    x =\n", True),
        ("def f():\n    x = ('''f''',\n", True),
        ("def f():\n    '''f\n    x =\n ''''''", False),
        ("def f():\n    '''f'''\n    x = (\n@", False),
        ("def f():\n    '''f'''\n    x =\n@", True),
        ("def f():\n        '''f'''\n    x =\n  y\n", False),
        ("def f():\n    x = 1\n\\\n    y =\n", False),
    ],
)
def test_a_broken_text_is_parsed_up_to_there_where_that_is_sure(
    text: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: list[str] = []

    def parsed(given: str) -> ast.Module:
        whole.append(given)
        return parse(given)

    monkeypatch.setattr(reparsing, "parse", parsed)
    text = REST + (text.removesuffix("@") + "@b\n" if text.endswith("@") else text) + REST
    with pytest.raises(SyntaxError):
        Reparser()(text)
    assert (text not in whole) is ends


def test_what_stands_as_it_stood_keeps_its_nodes() -> None:
    reparser = Reparser()
    one, two = reparser("x = 1\ndef f():\n    return 1\ndef f():\n    return 1\n").body[1:]
    new, first, second = reparser("def f():\n    return 2\n\ndef f():\n    return 1\ndef f():\n    return 1\n").body
    assert (first, second) == (one, two)
    assert new not in (one, two)
    assert [each.lineno for each in (new, first, second)] == [1, 4, 6]


@pytest.mark.parametrize("path", FIXTURES[::12], ids=lambda path: path.parent.name)
def test_findings_after_each_edit_are_those_of_a_fresh_look(path: Path) -> None:
    text, chosen, reparser = path.read_text(), random.Random(path.name), Reparser()
    lines = text.split("\n")
    for _ in range(6):
        at = chosen.randrange(len(lines))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        word = chosen.choice(["x = 1", "x = f(", "# why", "", "pass"])
        lines[at:at] = [indent + word]
        if chosen.random() < 0.5:
            del lines[chosen.randrange(len(lines))]
        text = "\n".join(lines)
        try:
            fresh = lint(text, path=str(path))
        except SyntaxError:
            lines = path.read_text().split("\n")
            continue
        assert lint(text, path=str(path), parsing=reparser) == fresh
