"""`.gitignore` patterns, as git reads them; a property test holds them equal to `git check-ignore`.

Our own and not the package pathspec, weighed twice. Importing it takes 30 ms, as much as all of Python's own start,
and every run in a repository would pay (this module: 1 ms); a path costs it 3.2 us, here 1.2 (pathspec 1.1.1). And it
matches a path together with the folders above it, so the common `*`, `!*/`, `!*.py` leaves out every folder. A walk
asks about each folder before it enters it, as git itself does: one pattern against one path is all there is to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
        line = re.sub(r"(?<!\\)((?:\\\\)*) +$", r"\1", line.removesuffix("\r"))
        keep = line.startswith("!")
        line = line.removeprefix("!")
        if not line or (line.startswith("#") and not keep):
            continue
        only_folder = line.endswith("/")
        line = line[:-1] if only_folder else line
        by_name = "/" not in line
        expression = _translate(line.removeprefix("/"), by_name)
        if line and expression is not None:
            yield keep, only_folder, by_name, re.compile(expression, re.DOTALL)


def _translate(glob: str, by_name: bool) -> str | None:
    """The regular expression of a git glob; None for one that can match nothing (an unclosed bracket)."""
    out = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            end = at + len(glob[at:]) - len(glob[at:].lstrip("*"))
            whole = end - at >= 2 and (at == 0 or glob[at - 1] == "/") and not by_name
            if whole and glob[end : end + 1] == "/":
                out.append("(?:.*/)?")
                end += 1
            else:
                out.append(".*" if whole and end == len(glob) else "[^/]*")
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
    return "".join(out)


def _bracket(glob: str, at: int) -> tuple[str, int] | None:
    """The expression of the bracket whose inside starts at `at`, and where it ends; None if it never closes."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    first = at
    while at < len(glob) and (glob[at] != "]" or at == first):
        named = re.compile(r"\[:([a-z]*):\]").match(glob, at)
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
