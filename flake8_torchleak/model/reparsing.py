"""A text that is parsed again and again while somebody edits it: what stands as it stood keeps its tree."""

from __future__ import annotations

import ast

from flake8_torchleak.model.index import Index
from flake8_torchleak.model.pieces import Piece, cut
from flake8_torchleak.source import parse

_FUTURE = "barry_as_FLUFL"
"""The one import that changes how what is behind it is parsed."""


class Reparser:
    """Parses the versions of one text, each as `parse` does; the nodes of the version before are not used any more.

    Each top-level definition, and what is between two, is parsed alone. The tokenizer comes to it with nothing left
    open, for what is before it parsed alone, too; and no statement goes on in the next piece, which would not parse.
    """

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], _Part] = {}
        """By text, and how many pieces with the same one are above."""

    def __call__(self, text: str) -> ast.Module:
        """The tree of a text. Raises SyntaxError as `parse` does."""
        pieces = cut(text)
        if pieces is None or _FUTURE in text or "\ufeff" in text:
            return parse(text)
        found: dict[tuple[str, int], _Part] = {}
        counts: dict[str, int] = {}
        for each in pieces:
            count = counts[each.text] = counts.get(each.text, 0) + 1
            part = self._parts.get((each.text, count)) or _parsed(each)
            if part is None:
                return parse(text)  # broken, or cut in a wrong place
            part.move(each.above)
            found[each.text, count] = part
        self._parts = found
        return ast.Module([statement for part in found.values() for statement in part.body], [])


def _parsed(piece: Piece) -> _Part | None:
    """The tree of a piece; None if it is none."""
    if piece.text.rstrip().endswith("\\"):
        return None  # the statement goes on below
    try:
        return _Part(parse(piece.text))
    except SyntaxError:
        return None


class _Part:
    """The tree of a piece, and where it stands."""

    def __init__(self, root: ast.Module) -> None:
        self.body = root.body
        self._above = 0
        self._nodes: list[ast.AST] | None = None

    def move(self, above: int) -> None:
        """So many lines are above now."""
        by, self._above = above - self._above, above
        if not by:
            return
        if self._nodes is None:
            self._nodes = [node for each in self.body for node in Index(each).order if "lineno" in node.__dict__]
        for node in self._nodes:
            node.lineno += by  # type: ignore[attr-defined]
            node.end_lineno += by  # type: ignore[attr-defined]
