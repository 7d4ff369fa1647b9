"""Which findings rest on what a name suggests: those that are not made where no such name tells anything.

Asked by leaving conventions out and linting again, so that it holds whatever the rules do. That costs a lint or a few
for each file with findings; only the formats that programs read ask.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from flake8_torchleak.config import Config
from flake8_torchleak.finding import BOUND, Finding, Span
from flake8_torchleak.lint import lint
from flake8_torchleak.model.hints import CONVENTIONS, distrusted

_Place = tuple[str, Span]


def resting(findings: Sequence[Finding], source: str, config: Config, path: str | None) -> list[Finding]:
    """The findings of a text, with the conventions that each of them rests on.

    Raises SyntaxError if the text does not parse.
    """
    asked = [each for each in findings if each.code != BOUND]
    if not asked:
        return list(findings)
    codes = {each.code for each in asked}

    def left(conventions: Iterable[str]) -> tuple[frozenset[_Place], set[tuple[str, str]]]:
        with distrusted(frozenset(conventions)) as ignored:
            found = lint(source, config, path=path, wanted=codes.__contains__)
        return frozenset(map(_place, found)), ignored

    made_anyway, names = left(CONVENTIONS)
    unsure = [each for each in asked if _place(each) not in made_anyway]
    if not unsure:
        return list(findings)
    hit = [key for key in CONVENTIONS if any(convention == key for convention, _ in names)]
    without = {key: left([key])[0] for key in hit}
    functions = _functions(source)
    told: dict[Finding, tuple[str, ...]] = {}
    for each in unsure:
        needed = [key for key in hit if _place(each) not in without[key]]
        needed = needed or _fewest(hit, lambda keys, each=each: _place(each) not in left(keys)[0])  # type: ignore[misc]
        around = _around(each.span, functions)
        told[each] = tuple(text for key in needed for text in _said(key, names, around))
    return [replace(each, conventions=told[each]) if each in told else each for each in findings]


def _place(finding: Finding) -> _Place:
    return finding.code, finding.span


def _fewest(keys: list[str], suffices: Callable[[list[str]], bool]) -> list[str]:
    """As few of the keys as still suffice together, where no single one does."""
    needed = keys
    for key in keys:
        fewer = [each for each in needed if each != key]
        if suffices(fewer):
            needed = fewer
    return needed


def _functions(source: str) -> list[tuple[int, int, str]]:
    """First line, last line and text of each function."""
    lines = source.splitlines()
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            last = node.end_lineno or node.lineno
            found.append((node.lineno, last, "\n".join(lines[node.lineno - 1 : last])))
    return found


def _around(span: Span, functions: list[tuple[int, int, str]]) -> str:
    """The text of the outermost function around a place; "" if there is none."""
    found = [each for each in functions if each[0] <= span.line <= each[1]]
    return min(found)[2] if found else ""


def _said(key: str, names: set[tuple[str, str]], around: str) -> Iterator[str]:
    """The names of a convention, those in the finding's function if there are any, each with what it is taken for."""
    all_names = sorted(name for convention, name in names if convention == key)
    near = [name for name in all_names if re.search(rf"\b{re.escape(name)}\b", around)]
    for name in near or all_names:
        yield f"`{name}` is taken for {CONVENTIONS[key]} by its name"
