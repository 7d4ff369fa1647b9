"""Lines that fit a terminal, broken between words. What goes elsewhere keeps its lines: programs read them."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TextIO

_LEAST = 40
"""On a narrower terminal than this, its own way of breaking lines is no worse."""


def columns(stream: TextIO) -> int:
    """The columns of the terminal that `stream` is; 0 where it is none."""
    return shutil.get_terminal_size().columns if stream.isatty() else 0


def folded(line: str, width: int, indent: str = "    ") -> str:
    """`line`, which may end in a line end, over as many lines as it takes, all but the first behind `indent`.

    width: 0 for no limit. A word that is longer stays whole, as paths do.
    """
    if width < _LEAST or len(line.rstrip("\n")) <= width:
        return line
    lead = line[: len(line) - len(line.lstrip(" "))]
    lines = textwrap.wrap(
        line, width, subsequent_indent=lead + indent, break_long_words=False, break_on_hyphens=False,
        expand_tabs=False, replace_whitespace=False,
    )  # fmt: skip
    return "\n".join(lines) + "\n" * line.endswith("\n")


def reflowed(page: str, width: int) -> str:
    """A rule's page with its paragraphs filled anew where they are wider; code, headings and lists keep their lines."""
    if width < _LEAST or max(map(len, page.splitlines())) <= width:
        return page
    out: list[str] = []
    lines = page.splitlines()
    for at, line in enumerate(lines):
        if re.match(r"  \S", line) and out and out[-1].startswith("- "):
            out[-1] += f" {line.strip()}"
            continue
        above, below = (*lines[max(at - 1, 0) : at], ""), (*lines[at + 1 : at + 2], "")
        own = re.match(r" |-|$|default: |fix: |page: ", line) or re.fullmatch("-+", below[0])
        out += [line] if own or re.match(r" |--|$", above[0]) else [f"{out.pop()} {line}"]
    indents = ["  " if line.startswith("- ") else "" for line in out]
    return "\n".join(line if line[:1] == " " else folded(line, width, by) for line, by in zip(out, indents)) + "\n"
