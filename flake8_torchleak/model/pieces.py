"""A module's text cut at its top-level definitions, so that only those are parsed that somebody asks for.

Parsing is most of what another file costs, and its tree most of what is kept of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_START = re.compile(r"^(?:@|class[ \t]+(\w+)|(?:async[ \t]+)?def[ \t]+(\w+))", re.MULTILINE)
"""A definition at the left margin, or a decorator of one."""
_NEXT = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
"""What ends it: anything else at the left margin but comments and what closes a bracket."""
QUOTES = ('"""', "'''")
"""Of strings over several lines."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The definition of `name`, with its decorators, or what is between two ("").

    `text` begins below `above` lines of the module.
    """

    name: str
    above: int
    text: str


def split(text: str) -> tuple[str, list[Piece]] | None:
    """The rest of a module, its lines where they were, and its top-level definitions in order.

    None where the cuts are not sure, see `cut`.
    """
    pieces = cut(text)
    if pieces is None:
        return None
    rest = "".join("\n" * each.text.count("\n") if each.name else each.text for each in pieces)
    return rest, [each for each in pieces if each.name]


def cut(text: str) -> list[Piece] | None:
    """A module in pieces: its top-level definitions, and what is between them, if anything.

    None where the cuts are not sure: text that looks like a definition may stand inside a string. A piece that was
    cut wrongly all the same does not parse.
    """
    if "\f" in text or text.count("\r") != text.count("\r\n"):
        return None  # lines that begin or end in other ways
    pieces: list[Piece] = []
    end = above = 0
    start = _START.search(text)
    while start is not None:
        first, between = start.start(), text[end : start.start()]
        place = _NEXT.search(text, start.end())
        while start is not None and start[0] == "@":  # decorators, and what they are on
            start = _START.match(text, place.start()) if place is not None else None
            place = _NEXT.search(text, start.end()) if start is not None else None
        if start is None:
            return None
        end = place.start() if place is not None else len(text)
        piece = text[first:end]
        if piece.rstrip().endswith("\\") or not (_closes_strings(between) and _closes_strings(piece)):
            return None
        if between:
            pieces.append(Piece("", above, between))
            above += between.count("\n")
        pieces.append(Piece(start[1] or start[2], above, piece))
        above += piece.count("\n")
        start = _START.search(text, end)
    return [*pieces, Piece("", above, text[end:])] if text[end:] else pieces


def _closes_strings(text: str) -> bool:
    """Whether no string over several lines is left open."""
    return not any(text.count(quote) % 2 for quote in QUOTES)
