"""A text that is parsed again and again while somebody edits it: what stands as it stood keeps its tree."""

from __future__ import annotations

import ast
import io
import tokenize

from flake8_torchleak.model.index import Index
from flake8_torchleak.model.pieces import QUOTES, Piece, cut
from flake8_torchleak.source import parse

_FUTURE = "barry_as_FLUFL"
"""The one import that changes how what is behind it is parsed."""
_LARGEST_SHARE = 1 / 3
"""Of a text: a broken piece of it that is longer is not looked into, for parsing all costs hardly more."""


class Reparser:
    """Parses the versions of one text, each as `parse` does; the nodes of the version before are not used any more.

    Of a text that does not parse it often tells no more than that, not what `parse` says of it.

    Each top-level definition, and what is between two, is parsed alone. The tokenizer comes to it with nothing left
    open, for what is before it parsed alone, too; and no statement goes on in the next piece, which would not parse.
    """

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], _Part] = {}
        """By text, and how many pieces with the same one are above."""

    def __call__(self, text: str) -> ast.Module:
        """The tree of a text. Raises SyntaxError where `parse` does."""
        pieces = cut(text)
        if pieces is None or _FUTURE in text or "\ufeff" in text:
            return parse(text)
        found: dict[tuple[str, int], _Part] = {}
        counts: dict[str, int] = {}
        for at, each in enumerate(pieces):
            count = counts[each.text] = counts.get(each.text, 0) + 1
            part = self._parts.get((each.text, count)) or _parsed(each.text)
            if part is None:
                if _is_broken(pieces[at:], _LARGEST_SHARE * len(text)):
                    raise SyntaxError("a definition, or what is between two, does not parse")
                return parse(text)  # broken, or cut in a wrong place
            part.move(each.above)
            found[each.text, count] = part
        self._parts = found
        return ast.Module([statement for part in found.values() for statement in part.body], [])


def _parsed(text: str) -> _Part | None:
    """The tree of a piece; None if it is none."""
    if text.rstrip().endswith("\\"):
        return None  # the statement goes on below
    try:
        return _Part(parse(text))
    except SyntaxError:
        return None


def _is_broken(pieces: list[Piece], most: float) -> bool:
    """Whether no text can parse that ends with these pieces, the first of which is no tree; False if that is not sure.

    most: letters that are worth a look.
    """
    text, rest = pieces[0].text, pieces[1:]
    if rest and not rest[0].name:  # what closes a bracket may stand at the margin, and look like a next statement
        text, rest = text + rest[0].text, rest[1:]
    if text.startswith("\\") or text.rstrip().endswith("\\"):
        return False  # its first statement may be indented, and so belong to what is above; its last one may go on
    if len(text) > most or _parsed(text) is not None:
        return False
    return not rest or _leaves_none_open(text, brackets=rest[0].text.startswith("@"))


def _leaves_none_open(text: str, brackets: bool) -> bool:
    """Whether no string goes on behind a text, for all that comes before it is closed. brackets: nor any bracket.

    A `def` or `class` in an open bracket is an error, too; a decorator may be an operator there.
    """
    if not brackets and all(quote not in text for quote in QUOTES):
        return True
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except tokenize.TokenError as error:
        return not brackets and "statement" in error.args[0]
    except SyntaxError:
        return False
    return True


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
