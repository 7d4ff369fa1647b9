"""`.gitignore` patterns, as git reads them; a property test holds them equal to `git check-ignore`.

A pattern becomes an expression that does not go back over two stars together: what stands between two stars is best
where it fits first, and so are the names between two `**/`. Whatever the pattern, time grows no faster than the product
of its length and the path's.

Our own and not the package pathspec, weighed three times. Its expressions do go back: `*a*a*a*a*a*x` against a name of
100 characters takes pathspec 1.1.1 3.9 s, and 17 times more with each `*a`; `a/**/` grows fourfold with each.
Importing it takes 30 ms, as much as all of Python's own start, and every run in a repository would pay (this module:
1 ms). And it matches a path together with the folders above it, so the common `*`, `!*/`, `!*.py` leaves out every
folder. A walk asks about each folder before it enters it, as git itself does: one pattern against one path is all there
is to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_NAMED = re.compile(r"\[:([a-z]*):\]")
_LONGEST = 32_767
"""Characters of the longest path that an operating system takes: a pattern that needs more of them matches none."""
_STAR, _FOLDERS, _REST = "[^/]*", "(?:[^/]*/)*?", ".*"
"""Parts that stand for any number of characters: `*`, `**/`, and `**` at the end."""


class Patterns:
    """The patterns of one ignore file, for paths below the folder it lies in."""

    def __init__(self, text: str) -> None:
        # The last pattern that matches decides.
        self._patterns = list(_compiled(text))[::-1]

    def __len__(self) -> int:
        """How many lines are usable patterns: not comments, not brackets that never close."""
        return len(self._patterns)

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True to leave `path` (relative, with "/") out, False to take it back in, None where nothing matches."""
        name = path[path.rfind("/") + 1 :]
        for keep, only_folder, by_name, pattern in self._patterns:
            if (is_folder or not only_folder) and pattern.fullmatch(name if by_name else path):
                return not keep
        return None


def _compiled(text: str) -> Iterator[tuple[bool, bool, bool, re.Pattern[str]]]:
    """(taken back in, folders only, matches the name alone, expression) for each usable line."""
    for line in text.removeprefix("\ufeff").split("\n"):
        line = _trimmed(line.removesuffix("\r"))
        keep = line.startswith("!")
        line = line.removeprefix("!")
        if not line or (line.startswith("#") and not keep):
            continue
        only_folder = line.endswith("/")
        line = line[:-1] if only_folder else line
        by_name = "/" not in line
        parts = _parts(line.removeprefix("/"), by_name)
        if line and parts is not None:
            yield keep, only_folder, by_name, re.compile(_expression(parts), re.DOTALL)


def _trimmed(line: str) -> str:
    """A line without the blanks at its end, of which one that a backslash stands before is none."""
    bare = line.rstrip(" ")
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2 and bare != line
    return f"{bare} " if escaped else bare


def _parts(glob: str, by_name: bool) -> list[str] | None:
    """The parts of a git glob, each an expression; None for one that can match nothing (an unclosed bracket)."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            end = at
            while glob[end : end + 1] == "*":
                end += 1
            whole = end - at >= 2 and (at == 0 or glob[at - 1] == "/") and not by_name
            slash = next((each for each in ("/", "\\/") if glob.startswith(each, end)), "")
            if whole and slash:
                # Before an escaped slash git takes at least one folder.
                out += [_STAR, "/"] * (slash != "/")
                out += [_FOLDERS] * (out[-1:] != [_FOLDERS])
                end += len(slash)
            else:
                out.append(_REST if whole and end == len(glob) else _STAR)
            at = end
        elif char == "?":
            out.append("[^/]")
            at += 1
        elif char == "[":
            bracket = _bracket(glob, at + 1)
            if bracket is None:
                return None
            out.append(bracket[0])
            at = bracket[1]
        else:
            at += char == "\\"
            if at == len(glob):
                return None
            out.append(re.escape(glob[at]))
            at += 1
    return out


def _expression(parts: Sequence[str]) -> str:
    """The expression of a glob's parts. It goes back over one `*` or `**/` at a time, never over two together."""
    if sum(part not in (_STAR, _FOLDERS, _REST) for part in parts) > _LONGEST:
        return "(?!)"
    number = count()
    runs = ["/".join(_name(name, number) for name in _split(run, "/")) for run in _split(parts, _FOLDERS)]
    if len(runs) == 1:
        return runs[0]
    # The first begins where the path does and the last ends where it does; those between are best where they fit first.
    between = "".join(_first(f"{_FOLDERS}{run}", number) for run in runs[1:-1])
    return f"{runs[0]}{between}{_FOLDERS}{runs[-1]}"


def _name(parts: Sequence[str], number: Iterator[int]) -> str:
    """The expression for the name of one file or folder."""
    pieces = ["".join(piece) for piece in _split(parts, _STAR)]
    if len(pieces) == 1:
        return pieces[0]
    between = "".join(_first(f"{_STAR}?{piece}", number) for piece in pieces[1:-1])
    return f"{pieces[0]}{between}{_STAR}{pieces[-1]}"


def _first(expression: str, number: Iterator[int]) -> str:
    """An expression that matches what it matches first or nothing; Python has `(?>...)` for it from 3.11 on."""
    name = f"_{next(number)}"
    return f"(?=(?P<{name}>{expression}))(?P={name})"


def _split(parts: Sequence[str], separator: str) -> list[list[str]]:
    """The runs of parts between those that are the separator."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == separator:
            runs.append([])
        else:
            runs[-1].append(part)
    return runs


def _bracket(glob: str, at: int) -> tuple[str, int] | None:
    """The expression of the bracket whose inside starts at `at`, and where it ends; None if it never closes."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    first = at
    while at < len(glob) and (glob[at] != "]" or at == first):
        named = _NAMED.match(glob, at)
        if named:
            if named[1] not in _CLASSES:
                return None
            members.append(_CLASSES[named[1]])
            at = named.end()
            continue
        low, at = _member(glob, at)
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(glob, at + 1)
            # An empty range still has its first character, as in git.
            members.append(f"{re.escape(low)}-{re.escape(max(low, high))}")
        else:
            members.append(re.escape(low))
    if at >= len(glob):
        return None
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1


def _member(glob: str, at: int) -> tuple[str, int]:
    """One character of a bracket, its backslash taken off, and where the next one starts."""
    at += glob[at] == "\\" and at + 1 < len(glob)
    return glob[at], at + 1
