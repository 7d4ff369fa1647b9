"""The code at the end of a message, written into the fixture word by word as one statement, silences the finding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from tests.test_fixtures import FIXTURES

CODE = re.compile(
    r"; (write|just before the change, write|before it,|in the sum write|"
    r"end each batch with|store|pass|return|add|wrap the list:|change a copy:) "
    r"`([^`]*)`(?:, and start with `([^`]*)`| to `\w+`)?$"
)
METHOD = re.compile(
    r"(?:keeps|keeps its slice|Dataset:) `([^`]*)`.*; (?:return it|store it|store a copy) .*`(\.\w+\(\))`\)?$"
)
LEAST = 163
"""Findings of the fixtures whose messages end in code that can be put in so."""
SHARED = {("bad_metric_logger.py", 38)}
"""Where another finding of the file fills the same container, and is not mended with it."""
_BLOCKS = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.If, ast.Try)


def remedied(text: str, finding: Finding) -> str | None:
    """The text with the message's code in the place that it names; None where it shows no code, or a part of it."""
    tree, line = ast.parse(text), finding.span.line
    around = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
    simple = [each for each in around if not isinstance(each, _BLOCKS)]
    code, method = CODE.search(finding.message), METHOD.search(finding.message)
    if not simple or not (code or method) or "..." in (code or method or "")[0]:
        return None
    old = ast.unparse(simple[-1])
    if method:
        kept = ast.unparse(ast.parse(method[1], mode="eval").body)
        return _put(text, simple[-1], [_replaced(old, kept, f"{kept}{method[2]}")])
    assert code is not None
    verb, new, start = code.groups()
    if verb == "end each batch with":
        loop = [each for each in around if isinstance(each, (ast.For, ast.While))][-1]
        return _put(text, loop.body[-1], [ast.unparse(loop.body[-1]), new])
    if verb in ("just before the change, write", "before it,"):
        return _put(text, simple[-1], [new, old])
    if verb == "write":
        return _put(text, simple[-1], [new])
    call = ast.parse(new, mode="eval").body
    assert isinstance(call, ast.Call)
    part = call.args[0] if call.args or not isinstance(call.func, ast.Attribute) else call.func.value
    if isinstance(part, ast.Name) and any(isinstance(n, ast.comprehension) for n in ast.walk(simple[-1])):
        return None  # the name stands in two places
    remedied = _replaced(old, ast.unparse(part), ast.unparse(call))
    if start is not None:
        remedied = remedied.replace(f"= {start.removesuffix('.detach()')} ", f"= {start} ")
    return _put(text, simple[-1], [remedied])


def _replaced(old: str, part: str, new: str) -> str:
    before, found, after = old.rpartition(part)
    assert found, (old, part)
    return f"{before}{new}{after}"


def _put(text: str, statement: ast.stmt, new: list[str]) -> str:
    lines = text.split("\n")
    indented = [" " * statement.col_offset + line for each in new for line in each.split("\n")]
    return "\n".join([*lines[: statement.lineno - 1], *indented, *lines[statement.end_lineno :]])


def cases(name: str) -> Iterator[tuple[str, int, Finding, str, list[str]]]:
    """(file, line, finding, remedied text, codes before) of one folder of fixtures."""
    for path in sorted((FIXTURES / name).glob("bad_*.py")):
        text = path.read_text(encoding="utf-8")
        found = lint(text)
        for each in found:
            new = remedied(text, each)
            if new is not None:
                yield path.name, each.span.line, each, new, [other.code for other in found]


FOLDERS = sorted(each.name for each in FIXTURES.iterdir() if each.is_dir())


@pytest.mark.parametrize("name", FOLDERS)
def test_the_code_of_a_message_silences_its_finding(name: str) -> None:
    for file, line, finding, text, before in cases(name):
        after = [each.code for each in lint(text)]
        assert set(after) <= set(before), (file, line, text)
        if (file, line) not in SHARED:
            assert after.count(finding.code) < before.count(finding.code), (file, line, finding.message)


def test_many_messages_end_in_code() -> None:
    assert sum(1 for name in FOLDERS for _ in cases(name)) >= LEAST
