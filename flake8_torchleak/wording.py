"""How code, names and exceptions are quoted in messages."""

from __future__ import annotations

import ast
import re

_LONGEST = 40
_LONGEST_TROUBLE = 300
_BRIEF = 20
"""The longest expression that a message shows a second time, in its remedy."""
_ENDLESS = "..."

_UNSEEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # control characters: they steer a terminal (a tab does not)
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional ones: what is read is not what is there
    "\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # nothing is seen of them
    "\u2028\u2029\ud800-\udfff]"  # line ends to some programs; halves of characters, which cannot be encoded
    r"|##(?=\w*\[)"
)
"""What is never shown as it is. `##[command]`, anywhere in a line, is a command to the logs of GitHub and Azure, as is
`##vso[`, and `##teamcity[`. Joiners (U+200C, U+200D) stay: scripts and emoji need them."""
_COMMAND = re.compile(r"\A([^!-~]*):(?=:)")
"""`::command` is one to GitHub's log where it begins a line; blanks, and what it takes for nothing, may precede it."""


def printable(text: str) -> str:
    """A name, or code, as it may be shown: what could steer a terminal, deceive a reader or command a log is escaped.

    The escapes (`\\n`, `\\u202e`) are those of Python, TOML and (up to U+FFFF) JSON. Text that has none stays as it is.
    """
    return _UNSEEN.sub(_escape, text)


def leading(text: str) -> str:
    """As `printable`, for what begins a line of output."""
    return _COMMAND.sub(r"\1\\u003a", printable(text), count=1) if "::" in text[:_LONGEST] else printable(text)


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char == "##":
        return r"#\u0023"
    known = {"\n": r"\n", "\r": r"\r"}.get(char)
    return known or (f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")


def trouble(error: BaseException) -> str:
    """An exception on one line: its type and its text, without addresses: the same code gives the same bytes."""
    text = re.sub(r" (?:object )?at 0x[0-9A-Fa-f]+", "", " ".join(str(error).split()))
    text = f"{type(error).__name__}: {text}".removesuffix(": ")
    return printable(text if len(text) <= _LONGEST_TROUBLE else text[:_LONGEST_TROUBLE] + "...")


def short(node: ast.expr) -> str:
    """An expression's text on one line, cut to what fits a message."""
    text = _line(node)
    return printable(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def is_cut(node: ast.expr) -> bool:
    """Whether `short` gives less than the whole expression."""
    text = _line(node)
    return text == _ENDLESS or len(text) > _LONGEST


def deepcopied(node: ast.expr, verb: str) -> str:
    """What to do with a copy of an expression, in code where the expression is shown whole."""
    return (
        f"{verb} a deep copy (`copy.deepcopy`)"
        if len(short(node)) > _BRIEF
        else f"{verb} `copy.deepcopy({short(node)})`"
    )


def copied_first(node: ast.expr) -> str:
    """The statement that makes a variable a copy, before it is changed; of other expressions what to do, in words."""
    if isinstance(node, ast.Name) and len(node.id) <= _BRIEF // 2:
        return f"write `{node.id} = copy.deepcopy({node.id})` first"
    return "change a variable with a `copy.deepcopy` of it"


def _line(node: ast.expr) -> str:
    try:
        return " ".join(ast.unparse(node).split())
    except RecursionError:  # a sum of thousands of terms
        return _ENDLESS


def released(node: ast.expr) -> str:
    """The expression with `.detach()`, in parentheses where precedence asks for them."""
    text = short(node)
    primary = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return f"{text}.detach()" if primary else f"({text}).detach()"
