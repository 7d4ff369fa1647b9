"""What IPython adds to Python in a notebook's cell, found line by line without IPython.

`%x`, `!ls`, `?help`, `help?`, `/f x`, `x = !ls`, `x = %who`, a cell magic in the first line, and commands such as
`pip install` that need no sign. No such line is Python, so a cell that parses has none, and nobody looks.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator, Sequence

from flake8_torchleak.source import parse

_TIMED = re.compile(r"[ \t]*%(?:time|timeit|prun|memit)[ \t]+(?:-[a-zA-Z][ \t]*\d*[ \t]+)*")
"""Magics that run the Python behind them: what it does to names counts."""
_SIGNED = re.compile(r"[ \t]*[%!?/,;]")
_HELP = re.compile(r"[^#'\"]*[\w*\]]\?{1,2}\s*$")
_BARE = re.compile(
    r"[ \t]*(?:pip|conda|mamba|uv|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|man|more|less|run|time|timeit|prun|matplotlib"
    r"|load_ext|reload_ext|who|whos|env|history|store|alias|pylab)[ \t]+[^\s=(\[.,:]"
)
"""IPython's commands that are called by name alone, as long as that is no Python."""

_PYTHON_CELLS = frozenset({"capture", "debug", "ipytest", "memit", "prun", "time", "timeit"})
"""Cell magics whose cell is Python that runs in the notebook's own namespace."""


def head(lines: Sequence[str]) -> int | None:
    """How many lines of a cell its magics (`%%time`) take, with the blank ones above; None if the rest is no Python."""
    taken = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("%%"):
            if line[2:].partition(" ")[0].strip() not in _PYTHON_CELLS:
                return None
            taken = number
        elif line.strip():
            break
    return taken


def split(lines: Sequence[str]) -> Iterator[tuple[str | None, Sequence[str]]]:
    """The lines of a cell in runs: those of a magic, with what may stand for them in Python, or of Python, with None.

    What stands for a magic is one line without its end: a statement of the same indentation, which binds what it binds.
    """
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and lines[end - 1].rstrip("\r\n").endswith("\\"):
            end += 1
        python = _instead(re.sub(r"\\[\r\n]+", " ", "".join(lines[start:end])).rstrip())
        if python is None:
            end = _end(lines, start)
        yield python, lines[start:end]
        start = end


def _instead(line: str) -> str | None:
    """What may stand for a line that begins a statement, if it is a magic."""
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    timed = _TIMED.match(line)
    if timed and _body(line[timed.end() :]):
        return indent + line[timed.end() :]
    if _SIGNED.match(line) or _HELP.match(line) or (_BARE.match(line) and not _body(line.strip())):
        return indent + "pass"
    for sign in re.finditer(r"=[ \t]*(?=[!%])", line):
        # Inside a string or comment what stands before the sign is no target.
        if any(isinstance(each, (ast.Assign, ast.AnnAssign)) for each in _body(f"{line[: sign.start()].strip()} = 0")):
            return line[: sign.end()] + "get_ipython()"
    return None


def _body(text: str) -> list[ast.stmt]:
    """The statements of a text; none if it is no Python."""
    try:
        return parse(text).body
    except SyntaxError:
        return []


def _end(lines: Sequence[str], start: int) -> int:
    """The index after the last line of the statement, or the blank or comment, that begins at `start`."""
    if not lines[start].strip() or lines[start].lstrip().startswith("#"):
        return start + 1
    rest = iter(lines[start:])
    try:
        tokens = tokenize.generate_tokens(lambda: next(rest))
        return start + next(token.end[0] for token in tokens if token.type == tokenize.NEWLINE)
    except (StopIteration, tokenize.TokenError, SyntaxError, ValueError):
        # No statement: all that is left, and parsing it will say what is wrong.
        return len(lines)
