"""Makes a failing program small: statements go, then expressions become names, as long as it fails in the same way."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator

from flake8_torchleak.source import parse
from tests.fuzz.program import Program

_SECONDS = 60


def shrunk(text: str, fails: Callable[[str], bool], seconds: float = _SECONDS) -> str:
    """The smallest text found in so many seconds for which `fails` still holds."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _smaller(text):
            if time.monotonic() >= end:
                break
            if _parses(candidate) and fails(candidate):
                text, smaller = candidate, True
                break
    return text


def _parses(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _smaller(text: str) -> Iterator[str]:
    """Texts without blank lines, or with a statement or expression less, the largest first; each is shorter."""
    dense = re.sub(r"(?m)^[ \t]*\n", "", text)
    if dense != text:
        yield dense
    program = Program(text)
    statements = sorted(program.statements, key=lambda each: -program.length(each))
    for each in statements:
        yield program.without(each)
    for each in statements:
        yield program.unwrapped(each)
    nodes = [node for node in ast.walk(program.tree) if isinstance(node, ast.expr) and program.length(node) > 1]
    for node in sorted(nodes, key=lambda each: -program.length(each)):
        start, end = program.span(node)
        yield text[:start] + "x" + text[end:]
    for node in sorted(nodes, key=lambda each: -program.length(each)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                start, end = program.span(node)
                yield text[:start] + program.text_of(child) + text[end:]
