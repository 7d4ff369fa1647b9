"""The index of symptoms, `docs/symptoms.md`, as data: what its sections are about, and where their messages stand."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parent.parent / "docs" / "symptoms.md"

_SECTION = re.compile(r"^### (.+)\n((?:(?!##).*\n)*)", re.MULTILINE)
_MESSAGE = re.compile(r"^```text\n(.*?)^```\n<!-- source: (.*?) -->$", re.MULTILINE | re.DOTALL)


class Message(NamedTuple):
    """An error message, with N and ... for what differs, and the file or thread that it was found in."""

    text: str
    source: str


class Symptom(NamedTuple):
    """A section of the page: what one sees, and the rules that may be the cause."""

    title: str
    anchor: str
    codes: frozenset[str]
    messages: tuple[Message, ...]


@lru_cache(maxsize=1)
def read() -> tuple[Symptom, ...]:
    """All sections of the page, in order."""
    return parsed(PAGE.read_text(encoding="utf-8"))


def parsed(text: str) -> tuple[Symptom, ...]:
    """The sections of a page."""
    return tuple(
        Symptom(
            title=re.sub(r"[`*]", "", title),
            anchor=anchor(title),
            codes=frozenset(re.findall(r"\bTLK\d{3}\b", body)),
            messages=tuple(Message(*each) for each in _MESSAGE.findall(body)),
        )
        for title, body in _SECTION.findall(text)
    )


def anchor(title: str) -> str:
    """The anchor that Markdown's table of contents gives a heading."""
    plain = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)
