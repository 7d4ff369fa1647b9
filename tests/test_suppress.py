"""`# noqa` in the command means what it means in flake8: flake8's own code is asked about the same text."""

from __future__ import annotations

import argparse
import linecache

import pytest
from flake8.processor import FileProcessor
from flake8.violation import Violation
from hypothesis import example, given
from hypothesis import strategies as st

from flake8_torchleak.suppress import Suppressions

CODES = ("TLK101", "TLK401", "TLK402", "E501")


def flake8_hides(text: str, code: str, line: int) -> bool:
    """What flake8 would do with a finding of `code` on `line` of a file with this text."""
    options = argparse.Namespace(
        hang_closing=False,
        indent_size=4,
        max_line_length=79,
        max_doc_length=None,
        verbose=0,
        stdin_display_name="stdin",
        disable_noqa=False,
    )
    # A file as flake8 opens it: newlines of all kinds become \n.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [each + "\n" for each in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    processor = FileProcessor("oracle.py", options, lines=list(lines))
    if processor.should_ignore_file():
        return True
    # Where flake8 cannot tokenize it reads the line from the file.
    linecache.cache["oracle.py"] = (len(text), None, lines, "oracle.py")
    violation = Violation(code, "oracle.py", line, 1, "text", processor.noqa_line_for(line))
    return bool(violation.is_inline_ignored(disable_noqa=False))


PIECES = st.sampled_from(
    [
        "x = 1",
        "x = (1,",
        ")",
        "    y = 2",
        "if x:",
        'z = """',
        '"""',
        "f'''{x}",
        "'''",
        "x = 1 + \\",
        "",
        "\\",
        "\x0c",
        "# noqa",
        "# NoQA",
        "# noqa: TLK401",
        "# noqa:TLK4,E501",
        "# noqa: tlk401",
        "# noqa : TLK401",
        "#noqa",
        "# noqa: TLK101 TLK402",
        "# noqa:  TLK101",
        "# noqa: TLK101,",
        "# noqa: because",
        "TLK401",
        "# flake8: noqa",
        "# flake8: noqa: E501",
        "# FLAKE8=NOQA",
        "日本語🙂",
    ]
)
LINES = st.lists(PIECES, max_size=3).map("  ".join)
TEXTS = st.builds(
    lambda lines, ends: "".join(line + end for line, end in zip(lines, ends)),
    st.lists(LINES, max_size=8),
    st.lists(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", ""]), min_size=8, max_size=8),
)


@given(TEXTS, st.sampled_from(CODES), st.integers(1, 10))
@example('x = """\n"""  # noqa: TLK401\n', "TLK401", 1)
@example("x = 1 + \\\n  2  # noqa\n", "TLK401", 1)
@example("x = f(\n  1,\n)  # noqa\n", "TLK401", 1)
@example("x = (  # noqa", "TLK401", 1)
@example("  # flake8: noqa: E501\nx = 1\n", "TLK401", 2)
@example("x = 1  # flake8: noqa: E501\n", "TLK401", 1)
@example("", "TLK401", 1)
def test_equal_to_flake8(text: str, code: str, line: int) -> None:
    assert Suppressions(text).hides(code, line) == flake8_hides(text, code, line)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("x = 1  # noqa\n", True),
        ("x = 1  # noqa: TLK401\n", True),
        ("x = 1  # noqa: TLK4\n", True),
        ("x = 1  # noqa: TLK402\n", False),
        ("x = 1\n# flake8: noqa\n", True),
        ("x = (  # noqa\n", True),
        ("x = 1\n", False),
        ("x = 1 + (\n  2)  # noqa\n", False),
    ],
)
def test_cases_by_hand(text: str, hidden: bool) -> None:
    assert Suppressions(text).hides("TLK401", 1) is hidden
