"""JSON as text: where the sources of a notebook's cells stand in it, and how one is changed with every other byte kept.

The text has been read by `json.loads`, so nothing here asks whether it is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from flake8_torchleak.source import Source

_BLANK = re.compile(r"[ \t\r\n]*")
_VALUE = json.JSONDecoder().raw_decode
_END = r"(?:\\r|\\u000[dD])(?:\\n|\\u000[aA])?|\\n|\\u000[aA]"
_ESCAPES = re.compile(rf"({_END})|\\u....|\\.")


def sources(text: str) -> dict[int, tuple[int, int]]:
    """Where the source of each cell begins and ends, by the cell's index; without those that have none."""
    found = {}
    top = dict(_members(text, _after(text, 0)))
    for index, (start, _) in enumerate(_elements(text, top["cells"][0])):
        cell = dict(_members(text, start)) if text[start] == "{" else {}
        if "source" in cell:
            found[index] = cell["source"]
    return found


def changed(value: str, source: str) -> str:
    """The string, or list of strings, written as `value`, so changed that it reads `source`.

    Lines that stay keep their bytes. A list stays one, and has an element for each line.
    """
    spans = list(_elements(value, 0)) if value.startswith("[") else [(0, len(value))]
    old = Source("".join(json.loads(value[start:end]) for start, end in spans)).lines
    new = Source(source).lines
    written = list(_lines("".join(value[start + 1 : end - 1] for start, end in spans)))
    head = next((at for at, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    known = dict(zip(old, written))
    middle = new[head : len(new) - tail]
    # Characters that are escaped where they need not be stay so.
    made = [known.get(line) or json.dumps(line, ensure_ascii=value.isascii())[1:-1] for line in middle]
    lines = written[:head] + made + written[len(written) - tail :]
    if value.startswith('"'):
        return f'"{"".join(lines)}"'
    before, after = value[: spans[0][0]], value[spans[-1][1] :]
    between = value[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{before[1:]}"
    return before + between.join(f'"{line}"' for line in lines) + after


def _after(text: str, at: int) -> int:
    """The place of what follows the white space at `at`."""
    found = _BLANK.match(text, at)
    assert found
    return found.end()


def _members(text: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The members of the object at `at`: each name, and where its value begins and ends."""
    at = _after(text, at + 1)
    while text[at] != "}":
        name, at = _VALUE(text, at)
        start = _after(text, _after(text, at) + 1)
        end = _VALUE(text, start)[1]
        yield name, (start, end)
        at = _next(text, end)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where each element of the list at `at` begins and ends."""
    at = _after(text, at + 1)
    while text[at] != "]":
        end = _VALUE(text, at)[1]
        yield at, end
        at = _next(text, end)


def _next(text: str, end: int) -> int:
    """The place of the next element or member, or of the closing bracket, behind one that ends at `end`."""
    at = _after(text, end)
    return _after(text, at + 1) if text[at] == "," else at


def _lines(written: str) -> Iterator[str]:
    """The lines of a text that is written with JSON's escapes, each as it is written."""
    start = 0
    for escape in _ESCAPES.finditer(written):
        if escape[1]:
            yield written[start : escape.end()]
            start = escape.end()
    if start < len(written):
        yield written[start:]
