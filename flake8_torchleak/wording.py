"""How code, names and exceptions are quoted in messages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import islice

_LONGEST = 40
_LONGEST_TROUBLE = 300
_BRIEF = 20
"""The longest expression that a message shows a second time, in its remedy."""
_MOST = 160
"""Characters of a message."""
_ENDLESS = "..."
_BREAK = re.compile(r"\s\S|[(\[.]")
"""Where the end of what is cut may begin: at a word, a bracket, an attribute."""
_OPERATIONS = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Lambda, ast.Await, ast.NamedExpr)
_CHAINED = (ast.Attribute, ast.Subscript, ast.Call)

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


COLLATED = "no loader is seen that hands samples on as they are; the default collate copies them"
"""Why what an edit of a sample does is a note."""
UNASKED = "there are no workers unless an option asks for them"
"""Why what only workers do is a note."""


def with_workers(unasked: bool) -> str:
    """What a message begins with if there are no workers where nobody asks for them."""
    return "with workers (by default none) " if unasked else ""


def short(node: ast.expr) -> str:
    """An expression's text on one line, cut to what fits a message: in the middle, for its end says what it gives."""
    return printable(_cut(node, _LONGEST))


def _cut(node: ast.expr, room: int) -> str:
    """The text in that many characters. Arguments and elements go first, then the middle."""
    text = _line(node)
    if len(text) <= room:
        return text
    if isinstance(node, _CHAINED):
        root, links = _links(node, room // 2)
        kept = "".join(links)
        while links and len(root) + len(kept) > room:
            links.pop(0)
            kept = _ENDLESS + "".join(links)
        if links:
            return root + kept
    if isinstance(node, ast.Dict):
        pairs = (_line(ast.Dict([key], [value]))[1:-1] for key, value in zip(node.keys, node.values, strict=True))
        return _listed("{", pairs, "}", room)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return _listed(text[0], map(_line, node.elts), text[-1], room)
    half = (room - len(_ENDLESS)) // 2
    head, end = text[:half], text[-half:]
    whole = _BREAK.search(end)
    return head[: head.rfind(" ") + 1 or half] + _ENDLESS + (end[whole.start() :] if whole is not None else end)


def _links(node: ast.expr, room: int) -> tuple[str, list[str]]:
    """What a chain of attributes, calls and indices begins with, and its links; arguments beyond `room` left out."""
    links: list[str] = []
    while isinstance(node, _CHAINED) and len(links) < _LONGEST:
        before = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Attribute):
            link = f".{node.attr}"
        elif isinstance(node, ast.Subscript):
            link = _line(ast.Subscript(ast.Name("_"), node.slice))[1:]
            link = link if len(link) <= room else f"[{_ENDLESS}]"
        else:
            given = [_line(each) for each in (*node.args, *node.keywords)]
            link = f"({', '.join(given)})"
            link = link if len(link) <= room else _listed("(", given, ")", room)
        links.insert(0, link)
        node = before
    text = _line(node)
    return (f"({text})" if isinstance(node, _OPERATIONS) else text), links


def _listed(opening: str, parts: Iterable[str], closing: str, room: int) -> str:
    """The first of these that there is room for, between brackets."""
    first = list(islice(parts, room))
    while first and len(f"{opening}{', '.join(first)}, ...{closing}") > room:
        first.pop()
    return f"{opening}{', '.join([*first, _ENDLESS])}{closing}"


def called(node: ast.expr) -> str:
    """An expression, of a call with long arguments its function alone."""
    if is_long(node) and isinstance(node, ast.Call) and not is_long(node.func):
        return printable(f"{_line(node.func)}({_ENDLESS if node.args or node.keywords else ''})")
    return short(node)


def called_with(call: ast.Call, told: ast.AST) -> str:
    """A call of which one part is what matters: its function, an argument or a keyword. Long, the rest is left out."""
    if not is_cut(call):
        return short(call)
    func = call.func
    name = _line(func) if len(_line(func)) <= _BRIEF or not isinstance(func, ast.Attribute) else f".{func.attr}"
    given = [*call.args, *call.keywords]
    if not given or told is func:
        return printable(f"{name}({_ENDLESS if given else ''})")
    part = next(each for each in given if each is told)
    before, after = ["..., " if part is not given[0] else "", ", ..." if part is not given[-1] else ""]
    return printable(f"{name}({before}{_line(part)}{after})")


def is_cut(node: ast.expr) -> bool:
    """Whether `short` gives less than the whole expression."""
    text = _line(node)
    return text == _ENDLESS or len(text) > _LONGEST


def is_long(node: ast.expr) -> bool:
    """Whether an expression is too long to be shown a second time; what is cut may look like code, and is none."""
    return is_cut(node) or len(short(node)) > _BRIEF


def its_graph(nodes: bool) -> str:
    """What of its graph a value holds. nodes: whether `backward()` freed all else."""
    return "the nodes of its graph" if nodes else "its autograd graph"


def graph_of_each(when: str, nodes: bool) -> str:
    """What of the graph of each step a holder keeps."""
    return f"the nodes of each {when}'s graph" if nodes else f"each {when}'s autograd graph"


def deepcopied(node: ast.expr, verb: str) -> str:
    """What to do with a copy of an expression, in code where the expression is shown whole."""
    return f"{verb} a deep copy (`copy.deepcopy`)" if is_long(node) else f"{verb} `copy.deepcopy({short(node)})`"


def copied_by(node: ast.expr, method: str) -> str:
    """What to return of a view: the copy, in code where the expression is shown whole."""
    if is_long(node) or not isinstance(node, (ast.Name, *_CHAINED)):
        return f"return it with `.{method}()`"
    return f"return `{short(node)}.{method}()`"


def fitting(head: str, *advice: str) -> str:
    """What happens, and the first way to say what to do that there is room for; the last if there is for none."""
    said = [f"{head}; {each}" for each in advice]
    return next((each for each in said if len(each) <= _MOST), said[-1])


def copied_first(name: str, method: str = "") -> str:
    """The statement that makes a variable a copy, before what it holds is changed: by a method of it, or deep."""
    if len(name) > _BRIEF:
        return f"copy it just before the change (`{f'.{method}()' if method else 'copy.deepcopy'}`)"
    return f"just before the change, write `{name} = {f'{name}.{method}()' if method else f'copy.deepcopy({name})'}`"


def _line(node: ast.AST) -> str:
    try:
        return " ".join(ast.unparse(node).split())
    except RecursionError:  # a sum of thousands of terms
        return _ENDLESS


def released(node: ast.expr) -> str:
    """The expression with `.detach()`, in parentheses where precedence asks for them."""
    text = short(node)
    primary = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return f"{text}.detach()" if primary else f"({text}).detach()"
